/** A batch has one span, linked to the span that created each of its items. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { z } from 'zod'
import { batch, defineApp, queue } from '../../src/index.ts'
import { openScene, withTime } from '../support/worker-scene.ts'
import { attributesOf, idOf, registerProvider, span, spans, within } from './trace-scene.ts'

registerProvider()

const app = defineApp('traced', {
  queues: { events: queue({ schema: z.number() }), out: queue({ schema: z.number() }) },
})

describe('the span of a batch', () => {
  test('is linked to its items, and has what they emit and their settlement in it', async () => {
    const { mill, clock } = await openScene(app)
    await within('one', () => mill.queues.events.send(1))
    await within('two', () => mill.queues.events.send(2))
    const worker = mill.worker({
      poll: ['events'],
      handle: {
        events: batch({ size: 10 }, async (items) => {
          for (const item of items) item.send('out', item.payload)
        }),
      },
    })
    await withTime(clock, worker.drain())
    const processed = span('process traced-dev-events')
    assert.equal(processed.parentSpanContext, undefined)
    const senders = spans('send traced-dev-events').map(idOf)
    assert.deepEqual(
      processed.links.map(({ context }) => context.spanId),
      senders,
    )
    assert.deepEqual(attributesOf(processed), { 'messaging.batch.message_count': 2 })
    const settled = span('settle traced-dev-events')
    const created = spans('create traced-dev-out')
    for (const child of [settled, ...created]) {
      assert.equal(child.parentSpanContext?.spanId, idOf(processed))
    }
    assert.equal(created.length, 2)
  })

  test('has failed if the handler threw', async () => {
    const { mill, clock } = await openScene(app)
    await mill.queues.events.send(1)
    const events = batch<number, unknown, unknown>({ size: 10 }, async () => {
      throw new RangeError('too many')
    })
    const worker = mill.worker({ poll: ['events'], handle: { events } })
    await withTime(clock, worker.drain())
    const { status, attributes } = span('process traced-dev-events')
    assert.equal(status.message, 'RangeError: too many')
    assert.equal(attributes['error.type'], 'RangeError')
  })
})
