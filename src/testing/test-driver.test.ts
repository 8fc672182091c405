import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { describe, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { chain } from '../contracts/chain-declaration.ts'
import { collector, triggers } from '../contracts/collector-declaration.ts'
import { defineApp } from '../contracts/define-app.ts'
import { flow } from '../contracts/flow-declaration.ts'
import { release } from '../contracts/handler-outcome.ts'
import { jobs } from '../contracts/jobs-declaration.ts'
import { queue } from '../contracts/queue-declaration.ts'
import { schedule } from '../contracts/schedule-declaration.ts'
import { openForTest, type TestMill, type TestOptions } from './open-for-test.ts'

const Page = z.object({ page: z.number() })
const exact = { from: '1m', factor: 2, jitter: 0 } as const

const library = defineApp('library', {
  queues: {
    pages: queue({ schema: Page, deadLetter: { after: 2 }, backoff: exact }),
    done: queue({ schema: z.object({ book: z.string() }) }),
    work: jobs({
      types: { READ: { schema: Page, timeout: '30s' }, INDEX: Page },
      backoff: exact,
      deadLetter: {},
    }),
    slow: queue({ schema: Page, rate: { max: 1, per: '1m' } }),
    windows: triggers(),
    letters: queue({ schema: z.array(z.string()) }),
    reports: queue(),
  },
  flows: { book: flow({ units: 'pages', finalize: 'done' }) },
  chains: {
    study: chain({
      steps: [
        { name: 'read', queue: 'work', type: 'READ' },
        { name: 'index', queue: 'work', type: 'INDEX' },
      ],
    }),
  },
  collectors: {
    words: collector({
      schema: z.string(),
      key: () => 'all',
      id: (word) => word,
      window: '10s',
      triggers: 'windows',
      targets: ['letters'],
      merge: (words) => words,
    }),
  },
  schedules: {
    berlin: schedule({
      cron: '30 2 * * *',
      timezone: 'Europe/Berlin',
      send: { queue: 'reports' },
    }),
  },
})

async function opened(
  options: TestOptions<typeof library> = {},
): Promise<TestMill<typeof library>> {
  const mill = await openForTest(library, options)
  onTestFinished(() => mill.close())
  return mill
}

/** The times at which something happened, without date and fractions. */
function times(): { readonly seen: string[]; note(mill: Pick<TestMill, 'now'>): void } {
  const seen: string[] = []
  return { seen, note: (mill) => void seen.push(mill.now().toISOString().slice(11, 19)) }
}

describe('draining', () => {
  test('runs what follows from the work too, without time passing', async () => {
    const mill = await opened({
      handle: {
        pages: () => undefined,
        done: () => undefined,
        READ: (page) => page,
        INDEX: () => 2,
      },
    })
    const start = mill.now()
    await mill.flows.book.open('b1', {
      units: [1, 2].map((page) => ({ id: `${page}`, message: { page } })),
      finalize: { message: { book: 'b1' } },
    })
    await mill.chains.study.start('s1', { page: 1 })
    const { completed } = await mill.drain()
    assert.equal(completed, 5)
    assert.deepEqual(mill.now(), start)
  })

  test('leaves alone what is delayed, held or retried later', async () => {
    const mill = await opened({ handle: { pages: () => undefined, reports: () => undefined } })
    await mill.queues.pages.send({ page: 1 }, { delay: '1s' })
    await mill.switches.hold({ queue: 'reports' }, { by: 'anna' })
    await mill.queues.reports.send(1)
    mill.failNext('pages')
    await mill.queues.pages.send({ page: 2 })
    const { completed, retried } = await mill.drain()
    assert.deepEqual([completed, retried], [0, 1])
    await mill.switches.lift({ queue: 'reports' }, { by: 'anna' })
    assert.equal((await mill.drain()).completed, 1)
  })

  test('runs a redrive', async () => {
    let isOpen = false
    const mill = await opened({
      handle: { pages: () => (isOpen ? undefined : assert.fail('closed')) },
    })
    await mill.queues.pages.send({ page: 1 })
    assert.equal((await mill.advance('1h')).failed, 1)
    isOpen = true
    await mill.queues.pages.deadLetters.redrive()
    assert.equal((await mill.drain()).completed, 1)
  })

  test('waits for real work of handlers', async () => {
    const mill = await opened({
      handle: { pages: async () => void (await readFile(import.meta.filename)) },
    })
    await mill.queues.pages.send({ page: 1 })
    assert.equal((await mill.drain()).completed, 1)
  })

  test('rejects work that never ends', async () => {
    const mill = await opened({ handle: { pages: () => release() } })
    await mill.queues.pages.send({ page: 1 })
    await assert.rejects(mill.drain({ limit: 50 }), {
      code: 'invalid_argument',
      message: /limit: got more than 50 attempts in one call/,
    })
    await assert.rejects(mill.advance('1m', { limit: 50 }), /limit: got more than 50/)
  })

  test('names the handler that it waits for', async () => {
    const warned = vi.spyOn(process, 'emitWarning').mockReturnValue(undefined)
    const gate = Promise.withResolvers<void>()
    const mill = await opened({ handle: { pages: () => gate.promise } })
    await mill.queues.pages.send({ page: 1 })
    const drained = mill.drain()
    await vi.waitFor(() => assert.equal(warned.mock.calls.length, 1), { timeout: 60_000 })
    assert.match(String(warned.mock.calls[0]?.[0]), /running handlers: pages\. .*whileRunning/s)
    gate.resolve()
    assert.equal((await drained).completed, 1)
    warned.mockRestore()
  })
})

describe('advancing', () => {
  test('ends delays and backoff in their order, each at its time', async () => {
    const { seen, note } = times()
    const mill = await opened({
      handle: {
        pages: ({ page }) => {
          note(mill)
          if (page === 1) throw new Error('torn')
        },
      },
    })
    await mill.queues.pages.send({ page: 1 })
    await mill.queues.pages.send({ page: 2 }, { delay: '30s' })
    const { completed, retried, failed } = await mill.advance('1h')
    assert.deepEqual(seen, ['00:00:00', '00:00:30', '00:01:00'])
    assert.deepEqual([completed, retried, failed], [1, 1, 1])
  })

  test('ticks schedules by their time zone, also across daylight saving', async () => {
    const { seen, note } = times()
    const mill = await opened({
      now: new Date('2026-03-28T00:00:00Z'),
      handle: { reports: () => note(mill) },
    })
    await mill.advance('3d')
    assert.deepEqual(seen, ['01:30:00', '01:00:00', '00:30:00'])
    await mill.advanceTo(new Date('2026-03-31T00:29:59Z'))
    assert.equal(seen.length, 3)
    await mill.advanceTo(new Date('2026-03-31T00:30:00Z'))
    assert.equal(seen.length, 4)
  })

  test('ends the window of a collector', async () => {
    const mill = await opened()
    await mill.collectors.words.add('mill')
    await mill.advance('9s')
    await mill.collectors.words.add('race')
    assert.deepEqual(await mill.sent('letters'), [])
    await mill.advance('1s')
    assert.deepEqual((await mill.sent('letters'))[0]?.message, ['mill', 'race'])
  })

  test('paces work by a rate limit', async () => {
    const { seen, note } = times()
    const mill = await opened({ handle: { slow: () => note(mill) } })
    for (const page of [1, 2, 3]) await mill.queues.slow.send({ page })
    await mill.advance('1h')
    assert.deepEqual(seen, ['00:00:00', '00:01:00', '00:02:00'])
  })

  test('ends the lease of a message that was received by hand', async () => {
    const mill = await opened()
    await mill.queues.reports.send(1)
    const [held] = await mill.queues.reports.receive()
    assert.deepEqual(await mill.queues.reports.receive(), [])
    await mill.advance('30s')
    const [again] = await mill.queues.reports.receive()
    assert.equal(again?.receiveCount, 2)
    assert.equal((await held?.acknowledge())?.status, 'stale')
  })

  test('stops time while handlers do real work', async () => {
    const { seen, note } = times()
    const mill = await opened({
      handle: {
        READ: async () => {
          await readFile(import.meta.filename)
          note(mill)
        },
        INDEX: () => undefined,
      },
    })
    await mill.jobs.enqueue('work', 'READ', { page: 1 }, { delay: '10m' })
    await mill.advance('1h')
    assert.deepEqual(seen, ['00:10:00'])
  })

  test('lets time pass while handlers run, if asked, so that they time out', async () => {
    const reasons: unknown[] = []
    const mill = await opened({
      handle: {
        READ: (_, { signal }) =>
          new Promise((_resolve, reject) => {
            signal.addEventListener('abort', () => {
              reasons.push(signal.reason.kind)
              reject(signal.reason)
            })
          }),
        INDEX: () => undefined,
      },
    })
    await mill.jobs.enqueue('work', 'READ', { page: 1 })
    await mill.advance('29s', { whileRunning: true })
    assert.deepEqual(reasons, [])
    const { retried } = await mill.advance('1s', { whileRunning: true })
    assert.deepEqual([reasons, retried], [['timeout'], 1])
  })

  test('ends a drain that waits for a handler without end', async () => {
    const mill = await opened({
      handle: { READ: () => new Promise(() => undefined), INDEX: () => undefined },
    })
    await mill.jobs.enqueue('work', 'READ', { page: 1 })
    const drained = mill.drain()
    // The handler ignores its signal, so it is abandoned five seconds later.
    await mill.advance('35s', { whileRunning: true })
    const { errors } = await drained
    assert.match(String(errors[0]?.error), /exceeded its timeout/)
  })

  test('runs no handler if only time is to pass', async () => {
    const mill = await opened({ handle: { reports: () => assert.fail('it ran') } })
    await mill.advance('1d', { work: false })
    assert.equal((await mill.sent('reports')).length, 1)
    assert.equal((await mill.queues.reports.statistics()).ready, 1)
  })

  test('follows schedules that handlers change', async () => {
    const mill = await opened({
      handle: { pages: async () => void (await mill.schedules.berlin.pause({ by: 'anna' })) },
    })
    await mill.queues.pages.send({ page: 1 }, { delay: '15m' })
    await mill.advance('2d')
    assert.equal((await mill.sent('reports')).length, 0)
  })

  test('ends a wait for a job that was begun before', async () => {
    const mill = await opened({ handle: { READ: () => 'read', INDEX: () => undefined } })
    const { id } = await mill.jobs.enqueue('work', 'READ', { page: 1 }, { delay: '10s' })
    const waited = mill.jobs.waitFor(id)
    await mill.advance('11s')
    assert.equal((await waited).result, 'read')
  })

  test('expires what its queue no longer keeps', async () => {
    const mill = await opened()
    await mill.queues.reports.send(1)
    await mill.advance('4d')
    const { ready } = await mill.queues.reports.statistics()
    // One report of each night is younger than four days.
    assert.equal(ready, 4)
  })
})
