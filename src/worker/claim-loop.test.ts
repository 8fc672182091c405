import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { z } from 'zod'
import { openScene, type WorkerScene } from '../../test/support/worker-scene.ts'
import type { Backend, Receive } from '../backends/backend.ts'
import { defineApp } from '../contracts/define-app.ts'
import { jobs } from '../contracts/jobs-declaration.ts'
import { MillraceError } from '../core/millrace-error.ts'
import type { Worker } from './worker.ts'

const types = { RUN: z.unknown() }
const app = defineApp('loop', {
  queues: { basic: jobs({ types }), lite: jobs({ types }), idle: jobs({ types }) },
})
type Loop = typeof app
type Key = keyof Loop['queues']

interface Line extends WorkerScene<Loop> {
  readonly worker: Worker
  /** The keys of the queues, in the order in which their jobs were started. */
  readonly starts: Key[]
  /** The most handlers that ran at once, by queue and all together. */
  readonly most: Map<string, number>
  readonly receives: Receive[]
  fill(key: Key, count: number): Promise<void>
  /** Fills both queues, and starts the worker. */
  begin(count: number): Promise<void>
}

interface LineOptions {
  readonly poll: readonly Key[] | { readonly [One in Key]?: number }
  readonly concurrency?: number
  readonly queueConcurrency?: { readonly [One in Key]?: number }
}

/** A worker whose every job takes a second. */
async function line(
  options: LineOptions,
  wrap: (backend: Backend) => Backend = (backend) => backend,
): Promise<Line> {
  const receives: Receive[] = []
  const scene = await openScene(app, {
    wrap: (backend) => ({
      ...wrap(backend),
      receive: (request) => {
        receives.push(request)
        return wrap(backend).receive(request)
      },
    }),
  })
  const starts: Key[] = []
  const running = new Map<string, number>()
  const most = new Map<string, number>()
  const add = (key: string, more: number): void => {
    running.set(key, (running.get(key) ?? 0) + more)
    most.set(key, Math.max(most.get(key) ?? 0, running.get(key) ?? 0))
  }
  const worker = scene.mill.worker({
    // Queues have the same types here, so it does not matter which of them are polled.
    ...(options as LineOptions & { readonly poll: readonly Key[] }),
    handle: {
      RUN: async (_, { queue }) => {
        starts.push(queue as Key)
        for (const key of [queue, 'all']) add(key, 1)
        await new Promise<void>((resolve) => scene.clock.after(1_000, resolve))
        for (const key of [queue, 'all']) add(key, -1)
      },
    },
  })
  const fill = async (key: Key, count: number): Promise<void> => {
    const entries = Array.from(
      { length: count },
      (_, payload) => ({ type: 'RUN', payload }) as const,
    )
    await scene.mill.jobs.enqueueMany(key, entries)
  }
  const begin = async (count: number): Promise<void> => {
    for (const key of ['basic', 'lite'] as const) await fill(key, count)
    worker.start()
  }
  return { ...scene, worker, starts, most, receives, fill, begin }
}

const countOf = (starts: readonly Key[], key: Key): number =>
  starts.filter((one) => one === key).length

describe('the claims of a worker', () => {
  test('are for its free slots, so that nothing waits in a worker that is busy', async () => {
    const { worker, fill, clock, mill, most, receives } = await line({
      poll: ['basic'],
      concurrency: 3,
    })
    await fill('basic', 10)
    worker.start()
    await clock.advance(0)
    const { ready, leased } = await mill.queues.basic.statistics()
    assert.deepEqual([ready, leased, worker.running], [7, 3, 3])
    await clock.advance(10_000)
    assert.equal((await mill.queues.basic.statistics()).totals.acknowledged, 10)
    assert.equal(most.get('all'), 3)
    assert.ok(receives.every(({ max }) => max <= 3))
  })

  test('leave a queue its own ceiling, and give the other slots to the rest', async () => {
    const { clock, most, starts, begin } = await line({
      poll: ['basic', 'lite'],
      concurrency: 5,
      queueConcurrency: { lite: 1 },
    })
    await begin(20)
    await clock.advance(3_999)
    assert.deepEqual([most.get('lite'), most.get('all'), starts.length], [1, 5, 20])
    assert.ok(countOf(starts, 'lite') >= 2)
  })

  test('take what is sent to a queue that was empty, at once', async () => {
    const { worker, fill, clock, starts, receives } = await line({ poll: ['basic', 'idle'] })
    worker.start()
    await clock.advance(60_000)
    assert.ok(receives.length <= 4, `${receives.length} receives from empty queues`)
    await fill('idle', 1)
    await clock.advance(0)
    assert.deepEqual(starts, ['idle'])
  })

  test('are for more than one call can take, when there are as many slots', async () => {
    const { worker, fill, clock, most } = await line({ poll: ['basic'], concurrency: 1_500 })
    await fill('basic', 1_000)
    await fill('basic', 600)
    worker.start()
    await clock.advance(0)
    assert.equal(most.get('all'), 1_500)
    await clock.advance(1_000)
    assert.equal(worker.running, 100)
  })
})

describe('weights', () => {
  test('of 3 and 1 are exact while both queues have work, slot by slot', async () => {
    const { clock, starts, begin } = await line({
      poll: { basic: 3, lite: 1 },
      concurrency: 1,
    })
    await begin(30)
    await clock.advance(15_999)
    const turns = starts.map((key) => key[0]).join('')
    assert.equal(turns, 'bblb'.repeat(4))
  })

  test.each([2, 3, 4, 10])('of 3 and 1 hold with %i slots', async (concurrency) => {
    const { clock, starts, begin } = await line({ poll: { basic: 3, lite: 1 }, concurrency })
    await begin(200)
    await clock.advance(19_999)
    assert.equal(starts.length, 20 * concurrency)
    assert.equal(countOf(starts, 'lite'), 5 * concurrency)
  })

  test('hold also when the store takes its time for one of the queues', async () => {
    const slow = (backend: Backend): Backend => ({
      ...backend,
      receive: async (request) => {
        const deliveries = await backend.receive(request)
        if (request.queue.endsWith('basic')) await after(300)
        return deliveries
      },
    })
    const { clock, starts, begin } = await line(
      { poll: { basic: 3, lite: 1 }, concurrency: 4 },
      slow,
    )
    const after = (ms: number) => new Promise<void>((resolve) => clock.after(ms, resolve))
    await begin(200)
    await clock.advance(40_000)
    assert.ok(starts.length >= 100)
    assert.ok(Math.abs(countOf(starts, 'lite') - starts.length / 4) <= 1)
  })

  test('give all to one queue when the other is empty, and owe nothing for it later', async () => {
    const { worker, fill, clock, starts } = await line({
      poll: { basic: 3, lite: 1 },
      concurrency: 4,
    })
    await fill('lite', 40)
    worker.start()
    await clock.advance(4_999)
    assert.deepEqual([countOf(starts, 'basic'), countOf(starts, 'lite')], [0, 20])
    await fill('basic', 40)
    await clock.advance(4_000)
    const later = starts.slice(20)
    assert.deepEqual([countOf(later, 'basic'), countOf(later, 'lite')], [12, 4])
  })

  test('can be changed while the worker runs', async () => {
    const { worker, clock, starts, begin } = await line({
      poll: { basic: 3, lite: 1 },
      concurrency: 4,
    })
    await begin(100)
    await clock.advance(3_999)
    worker.setWeight('lite', 3)
    await clock.advance(4_000)
    const later = starts.slice(16)
    assert.deepEqual([countOf(later, 'basic'), countOf(later, 'lite')], [8, 8])
  })

  test('are refused for a queue that is not polled, or outside their limits', async () => {
    const { worker } = await line({ poll: ['basic'] })
    assert.throws(() => worker.setWeight('lite', 0), {
      code: 'invalid_argument',
      message: [
        'weight: got 0, expected a whole number, 1 to 1000 times',
        "queue: got 'lite', expected one of basic",
      ].join('\n'),
    })
  })
})

describe('a claim that fails', () => {
  test('is repeated after a rest, longer each time, and the other queues go on', async () => {
    let isBroken = true
    const failing = (backend: Backend): Backend => ({
      ...backend,
      receive: (request) =>
        isBroken && request.queue.endsWith('basic')
          ? Promise.reject(new MillraceError('store_failed'))
          : backend.receive(request),
    })
    const { clock, starts, lines, begin } = await line({ poll: ['basic', 'lite'] }, failing)
    await begin(1)
    await clock.advance(0)
    assert.deepEqual(starts, ['lite'])
    await clock.advance(60_000)
    const failures = lines.filter(({ message }) => message === 'work could not be claimed')
    assert.deepEqual(
      failures.map(({ fields }) => fields['retry_in_ms']),
      [250, 500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000, 10_000, 10_000, 10_000],
    )
    const [failure] = failures
    assert.deepEqual(failure, {
      level: 'error',
      message: 'work could not be claimed',
      fields: {
        queue: 'basic',
        error: 'The store could not write. The operation had no effect.',
        retry_in_ms: 250,
      },
    })
    isBroken = false
    await clock.advance(10_000)
    assert.deepEqual(starts, ['lite', 'basic'])
  })

  test('begins with a short rest again once one has succeeded', async () => {
    const answers = [false, false, true, false]
    const moody = (backend: Backend): Backend => ({
      ...backend,
      receive: (request) =>
        answers.shift() === false
          ? Promise.reject(new MillraceError('store_busy'))
          : backend.receive(request),
    })
    const { worker, fill, clock, lines } = await line({ poll: ['basic'], concurrency: 1 }, moody)
    await fill('basic', 3)
    worker.start()
    await clock.advance(10_000)
    const rests = lines
      .filter(({ message }) => message === 'work could not be claimed')
      .map(({ fields }) => fields['retry_in_ms'])
    assert.deepEqual(rests, [250, 500, 250])
  })

  test('because the queue is gone does not keep the worker from the others', async () => {
    const { worker, fill, clock, backend, mill, starts, receives } = await line({
      poll: ['basic', 'lite'],
    })
    worker.start()
    await clock.advance(0)
    await backend.deleteQueue({ queue: mill.queues.lite.name })
    await clock.advance(30_000)
    await fill('basic', 1)
    await clock.advance(0)
    assert.deepEqual(starts, ['basic'])
    assert.ok(receives.length < 20, `${receives.length} receives`)
  })
})

describe('a job on its last attempt whose attempt before was lost', () => {
  test('runs alone, after what runs already and before anything else', async () => {
    const { mill, backend, clock, worker, until } = await openLast()
    const { name } = mill.queues.basic
    const entries = ['a', 'b', 'c'].map(
      (payload) => ({ type: 'RUN', payload, attempts: 2 }) as const,
    )
    await mill.jobs.enqueueMany('basic', entries)
    // A worker dies with two of them in its hands.
    assert.equal((await backend.receive({ queue: name, max: 2, visibilityMs: 1_000 })).length, 2)
    await clock.advance(1_500)
    worker.start()
    await clock.advance(10_000)
    await until('all completed', async () => {
      const { items } = await mill.jobs.list('basic', { status: 'completed' })
      return items.length === 3
    })
    assert.deepEqual(worker.seen, [
      ['c', 1, 1],
      ['a', 2, 1],
      ['b', 2, 1],
    ])
  })

  test('is not waited for when another worker has taken it', async () => {
    const { mill, backend, clock, worker, until } = await openLast()
    const { name } = mill.queues.basic
    await mill.jobs.enqueueMany('basic', [
      { type: 'RUN', payload: 'a', attempts: 2 },
      { type: 'RUN', payload: 'b' },
    ])
    await backend.receive({ queue: name, max: 1, visibilityMs: 1_000 })
    await clock.advance(1_500)
    worker.start()
    // The other one runs for a second; meanwhile the last chance goes to another worker.
    await until('b runs', () => worker.running === 1)
    const [taken] = await backend.receive({ queue: name, max: 1 })
    assert.equal(taken?.job?.attempt, 2)
    await clock.advance(5_000)
    await mill.jobs.enqueue('basic', 'RUN', 'c')
    await clock.advance(5_000)
    assert.deepEqual(worker.seen, [
      ['b', 1, 1],
      ['c', 1, 1],
    ])
  })
})

/** A worker with room for ten, which notes payload, attempt and how many run when one begins. */
async function openLast() {
  const scene = await openScene(app)
  const seen: (readonly [payload: unknown, attempt: number, running: number])[] = []
  let running = 0
  const worker = scene.mill.worker({
    poll: ['basic'],
    handle: {
      RUN: async (payload, { attempt }) => {
        running += 1
        seen.push([payload, attempt, running])
        await new Promise<void>((resolve) => scene.clock.after(1_000, resolve))
        running -= 1
      },
    },
  })
  return { ...scene, worker: Object.assign(worker, { seen }) }
}
