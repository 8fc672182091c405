/** Without a tracer provider there are no traces, and nothing is stored for them. */
import assert from 'node:assert/strict'
import { trace } from '@opentelemetry/api'
import { afterEach, describe, test } from 'vitest'
import { z } from 'zod'
import { open } from '../../src/app/open.ts'
import { defineApp, jobs, queue } from '../../src/index.ts'
import { openScene, withTime } from '../support/worker-scene.ts'

const app = defineApp('shop', {
  queues: {
    orders: queue({ schema: z.object({ n: z.number() }) }),
    mail: jobs({ types: { SEND: z.object({ to: z.string() }) } }),
  },
})

afterEach(() => {
  trace.disable()
})

describe('without a registered tracer provider', () => {
  test('an app stores nothing beside its messages and jobs', async () => {
    const { mill, clock, backend, lines } = await openScene(app)
    await mill.queues.orders.send({ n: 1 })
    await mill.queues.orders.sendMany([{ n: 2 }, { n: 3 }])
    const { id } = await mill.jobs.enqueue('mail', 'SEND', { to: 'a' })
    assert.equal((await mill.jobs.get(id))?.traceId, null)
    for (const name of ['shop-dev-orders', 'shop-dev-mail']) {
      const { items } = await backend.peek({ queue: name, state: 'ready', limit: 10 })
      for (const { systemAttributes } of items) assert.deepEqual({ ...systemAttributes }, {})
    }
    const handle = { orders: () => undefined, SEND: () => undefined }
    await withTime(clock, mill.worker({ poll: ['orders', 'mail'], handle }).drain())
    for (const { fields } of lines) assert.ok(!('trace_id' in fields) && !('span_id' in fields))
  })

  test('a provider that makes no spans counts as none', async () => {
    trace.setGlobalTracerProvider(
      new (class NoopTracerProvider {
        getTracer(): never {
          throw new Error('A tracer was asked for.')
        }
      })(),
    )
    const { mill } = await openScene(app)
    await mill.queues.orders.send({ n: 1 })
  })

  test('an app that insists on traces is not opened', async () => {
    await assert.rejects(open(app, { traces: true }), {
      code: 'invalid_argument',
      message:
        'traces: no tracer provider is registered. Start your OpenTelemetry SDK before you open the app.',
    })
  })
})
