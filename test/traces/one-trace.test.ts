/** Work that follows from other work belongs to the same trace. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { z } from 'zod'
import {
  chain,
  collector,
  defineApp,
  flow,
  jobs,
  queue,
  schedule,
  triggers,
} from '../../src/index.ts'
import { openScene, type WorkerScene, withTime } from '../support/worker-scene.ts'
import {
  idOf,
  registerProvider,
  span,
  spans,
  traceIds,
  tracer,
  tree,
  within,
} from './trace-scene.ts'

registerProvider()

const Numbered = z.object({ n: z.number() })

const app = defineApp('traced', {
  queues: {
    upload: queue({ schema: Numbered }),
    scan: jobs({ types: { SCAN: Numbered, REPORT: Numbered } }),
    units: queue({ schema: Numbered }),
    done: queue({ schema: Numbered }),
    due: triggers({}),
    merged: queue({ schema: z.object({ sum: z.number() }) }),
    ticks: queue({ schema: z.unknown() }),
  },
  flows: { pages: flow({ units: 'units', finalize: 'done' }) },
  chains: {
    report: chain({
      steps: [
        { name: 'scan', queue: 'scan', type: 'SCAN' },
        { name: 'report', queue: 'scan', type: 'REPORT' },
        { name: 'done', queue: 'done' },
      ],
    }),
  },
  collectors: {
    sums: collector({
      schema: z.object({ id: z.string(), n: z.number() }),
      key: () => 'all',
      id: ({ id }) => id,
      window: '10s',
      triggers: 'due',
      targets: ['merged'],
      merge: (items) => ({ sum: items.reduce((sum, { n }) => sum + n, 0) }),
    }),
  },
  schedules: { minutely: schedule({ every: '1m', send: { queue: 'ticks' } }) },
})

type Scene = WorkerScene<typeof app>

/** Runs everything that is due. */
async function work({ mill, clock }: Scene): Promise<void> {
  const worker = mill.worker({
    poll: ['upload', 'scan', 'units', 'done', 'due', 'merged', 'ticks'],
    handle: {
      upload: ({ n }, context) => context.enqueue('scan', 'SCAN', { n }),
      SCAN: ({ n }, context) => {
        if (context.unit !== null) return { n }
        const units = [1, 2].map((id) => ({ id: String(id), message: { n: id } }))
        context.open('pages', String(n), { units, finalize: { message: { n } } })
        return undefined
      },
      REPORT: ({ n }) => ({ n }),
      units: () => tracer.startActiveSpan('read a page', (own) => own.end()),
      done: () => undefined,
      merged: () => undefined,
      ticks: () => undefined,
    },
  })
  await withTime(clock, worker.drain())
}

describe('one trace', () => {
  test('leads from a producer through emitted jobs and units to the end of a flow', async () => {
    const scene = await openScene(app)
    await within('request', () => scene.mill.queues.upload.send({ n: 1 }))
    await work(scene)
    assert.equal(traceIds().size, 1)
    assert.equal(
      tree(),
      [
        'request',
        '  send traced-dev-upload',
        '    process traced-dev-upload',
        '      create traced-dev-scan',
        '        process traced-dev-scan',
        '          create traced-dev-done',
        '            process traced-dev-done',
        '              settle traced-dev-done',
        '          create traced-dev-units',
        '            process traced-dev-units',
        '              read a page',
        '              settle traced-dev-units',
        '          create traced-dev-units',
        '            process traced-dev-units',
        '              read a page',
        '              settle traced-dev-units',
        '          settle traced-dev-scan',
        '      settle traced-dev-upload',
      ].join('\n'),
    )
  })

  test('holds a flow that is opened outside of a span', async () => {
    const scene = await openScene(app)
    const units = [1, 2].map((n) => ({ id: String(n), message: { n } }))
    await scene.mill.flows.pages.open('d', { units, finalize: { message: { n: 1 } } })
    await work(scene)
    assert.equal(traceIds().size, 1)
    const opening = span('send traced-dev-units')
    assert.equal(opening.parentSpanContext, undefined)
    assert.equal(opening.attributes['millrace.flow.name'], 'traced-dev-pages')
    assert.equal(opening.attributes['millrace.flow.id'], 'd')
    const units1 = spans('process traced-dev-units')
    assert.deepEqual(
      units1.map(({ attributes }) => attributes['millrace.flow.unit']),
      ['1', '2'],
    )
    assert.equal(spans('process traced-dev-done').length, 1)
  })

  test('holds all steps of a chain, each under the step before', async () => {
    const scene = await openScene(app)
    await scene.mill.chains.report.start('r', { n: 1 })
    await work(scene)
    assert.equal(traceIds().size, 1)
    assert.equal(
      tree(),
      [
        'send traced-dev-scan',
        '  create traced-dev-scan',
        '    process traced-dev-scan',
        '      create traced-dev-scan',
        '        process traced-dev-scan',
        '          create traced-dev-done',
        '            process traced-dev-done',
        '              settle traced-dev-done',
        '          settle traced-dev-scan',
        '      settle traced-dev-scan',
      ].join('\n'),
    )
  })

  test('begins with each tick of a schedule', async () => {
    const scene = await within('start-up', () => openScene(app))
    await scene.clock.advance(120_000)
    await work(scene)
    const ticks = spans('create traced-dev-ticks')
    assert.ok(ticks.length >= 1)
    for (const tick of ticks) assert.equal(tick.parentSpanContext, undefined)
    assert.equal(traceIds().size, ticks.length + 1)
    const [first] = ticks
    const handled = spans('process traced-dev-ticks')
    assert.ok(
      first && handled.some(({ parentSpanContext }) => parentSpanContext?.spanId === idOf(first)),
    )
  })
})

describe('a batch of a collector', () => {
  test('is linked to the traces of all its items, and followed by its message', async () => {
    const scene = await openScene(app)
    for (const n of [1, 2, 3]) {
      await within(`request ${n}`, () => scene.mill.collectors.sums.add({ id: `i${n}`, n }))
    }
    await scene.clock.advance(10_000)
    await work(scene)
    const items = spans('send traced-dev-sums')
    assert.equal(items.length, 3)
    const batch = span('process traced-dev-due')
    assert.equal(batch.parentSpanContext, undefined)
    assert.deepEqual(
      batch.links.map(({ context }) => context.spanId),
      items.map(idOf),
    )
    const followed = span('process traced-dev-merged')
    assert.equal(followed.spanContext().traceId, batch.spanContext().traceId)
    assert.equal(traceIds().size, 4)
  })

  test('is linked to an item that a handler has collected', async () => {
    const scene = await openScene(app)
    await scene.mill.queues.upload.send({ n: 1 })
    const worker = scene.mill.worker({
      poll: ['upload'],
      handle: { upload: ({ n }, context) => context.collect('sums', { id: 'i', n }) },
    })
    await withTime(scene.clock, worker.drain())
    await scene.clock.advance(10_000)
    await work(scene)
    const item = span('create traced-dev-sums')
    assert.equal(item.parentSpanContext?.spanId, idOf(span('process traced-dev-upload')))
    const [link] = span('process traced-dev-due').links
    assert.equal(link?.context.spanId, idOf(item))
  })
})
