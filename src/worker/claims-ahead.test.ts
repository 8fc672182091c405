import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { z } from 'zod'
import { gate, openScene, started, type WorkerScene } from '../../test/support/worker-scene.ts'
import type { Backend, Receive } from '../backends/backend.ts'
import { defineApp } from '../contracts/define-app.ts'
import { jobs } from '../contracts/jobs-declaration.ts'
import type { Worker } from './worker.ts'

const app = defineApp('ahead', {
  queues: {
    basic: jobs({ types: { RUN: z.number() }, visibilityTimeout: '30s' }),
    limited: jobs({ types: { RUN: z.number() }, concurrency: 50 }),
  },
})
type Ahead = typeof app
type Key = keyof Ahead['queues']

interface Line extends WorkerScene<Ahead> {
  readonly receives: Receive[]
  fill(key: Key, count: number): Promise<void>
}

interface StuckLine extends Line {
  readonly worker: Worker
  readonly stuck: ReturnType<typeof gate<void>>
  readonly done: readonly number[]
}

/** If calls run side by side, a receive begins a turn of the event loop later. */
function laterReceives(backend: Backend, concurrentCalls: boolean, to: Receive[] = []): Backend {
  return {
    ...backend,
    capabilities: { ...backend.capabilities, concurrentCalls },
    receive: async (request) => {
      to.push(request)
      if (concurrentCalls) await new Promise((resolve) => setImmediate(resolve))
      return backend.receive(request)
    },
  }
}

async function line(concurrentCalls = false): Promise<Line> {
  const receives: Receive[] = []
  const scene = await openScene(app, {
    wrap: (backend) => laterReceives(backend, concurrentCalls, receives),
  })
  return {
    ...scene,
    receives,
    async fill(key, count) {
      const entries = Array.from(
        { length: count },
        (_, payload) => ({ type: 'RUN', payload }) as const,
      )
      await scene.mill.jobs.enqueueMany(key, entries)
    },
  }
}

describe.each([
  ['a store that stops the program during a call', false],
  ['a store that works while the program does', true],
])('a worker with fast handlers, on %s', (_, concurrentCalls) => {
  test('claims ahead of its slots, and still runs no more at once than it has', async () => {
    const { mill, fill, receives, until } = await line(concurrentCalls)
    await fill('basic', 1_000)
    let running = 0
    let most = 0
    const order: number[] = []
    const handler = async (payload: number): Promise<void> => {
      running += 1
      most = Math.max(most, running)
      order.push(payload)
      await Promise.resolve()
      running -= 1
    }
    started(mill.worker({ poll: ['basic'], concurrency: 2, handle: { RUN: handler } }))
    await until('all are done', async () => {
      const { acknowledged } = (await mill.queues.basic.statistics()).totals
      return acknowledged === 1_000
    })
    assert.equal(most, 2)
    assert.deepEqual(
      order,
      Array.from({ length: 1_000 }, (_, index) => index),
    )
    assert.ok(receives.length < 60, `${receives.length} claims for 1,000 jobs`)
    assert.ok(receives.every(({ max }) => max <= 2))
  })

  test('keeps the weights of its queues', async () => {
    const types = { RUN: z.number() }
    const weighted = defineApp('weights', {
      queues: { basic: jobs({ types }), lite: jobs({ types }) },
    })
    const { mill, until } = await openScene(weighted, {
      wrap: (backend) => laterReceives(backend, concurrentCalls),
    })
    const entries = Array.from(
      { length: 1_000 },
      (_, payload) => ({ type: 'RUN', payload }) as const,
    )
    for (const key of ['basic', 'lite'] as const) await mill.jobs.enqueueMany(key, entries)
    const counts = { basic: 0, lite: 0 }
    const worker = started(
      mill.worker({
        poll: { basic: 3, lite: 1 },
        concurrency: 4,
        handle: {
          RUN: (_, { queue }) => {
            counts[queue as keyof typeof counts] += 1
            if (counts.basic === 600) void worker.stop()
          },
        },
      }),
    )
    await until('most of the one queue is done', () => counts.basic >= 600)
    const share = counts.basic / (counts.basic + counts.lite)
    assert.ok(Math.abs(share - 0.75) < 0.05, `${counts.basic} and ${counts.lite}`)
  })

  test('claims nothing ahead where the queue counts what runs', async () => {
    const { mill, backend, fill, until, receives } = await line(concurrentCalls)
    await fill('limited', 300)
    let most = 0
    const handler = async (): Promise<void> => {
      const { leased } = await backend.queueStatistics({ queue: 'ahead-dev-limited' })
      most = Math.max(most, leased)
    }
    started(mill.worker({ poll: ['limited'], concurrency: 2, handle: { RUN: handler } }))
    await until('all are done', async () => {
      const { acknowledged } = (await mill.queues.limited.statistics()).totals
      return acknowledged === 300
    })
    assert.ok(most <= 4, `${most} leases for 2 slots`)
    assert.ok(receives.some(({ prefetch }) => prefetch !== undefined))
  })
})

describe('a worker on a store that works while the program does', () => {
  test('claims the next jobs while others wait to be started', async () => {
    const { mill, fill, receives, until } = await line(true)
    await fill('basic', 1_000)
    let done = 0
    const handle = {
      RUN: async (): Promise<void> => {
        await Promise.resolve()
        done += 1
      },
    }
    started(mill.worker({ poll: ['basic'], concurrency: 2, handle }))
    await until('all are done', () => done === 1_000)
    // They are not for a slot.
    const next = receives.filter(({ max, prefetch = 0 }) => max === 1 && prefetch > 2)
    assert.ok(next.length > 3, `${next.length} of ${receives.length} claims`)
  })

  test('does not claim again and again behind a handler that turns slow', async () => {
    const { clock, receives, stuck, worker } = await stuckLine(true)
    await clock.advance(100)
    const before = receives.length
    for (let turn = 0; turn < 20; turn += 1) await clock.advance(100)
    assert.equal(receives.length, before)
    stuck.open()
    await worker.stop()
  })
})

/** A worker with one slot that is fast until job 300 waits. */
async function stuckLine(concurrentCalls = false): Promise<StuckLine> {
  const scene = await line(concurrentCalls)
  await scene.fill('basic', 1_000)
  const stuck = gate()
  const done: number[] = []
  const worker = started(
    scene.mill.worker({
      poll: ['basic'],
      concurrency: 1,
      handle: {
        RUN: (payload) => {
          done.push(payload)
          return payload === 300 ? stuck.opened : undefined
        },
      },
    }),
  )
  await scene.until('it is stuck', () => done.includes(300))
  return { ...scene, worker, stuck, done }
}

describe('what was claimed ahead', () => {
  test('is released within milliseconds behind a handler that turns slow', async () => {
    const { mill, clock, worker, stuck } = await stuckLine()
    const before = await mill.queues.basic.statistics()
    assert.ok(before.leased > 1, `${before.leased} claimed`)
    await clock.advance(20)
    assert.equal((await mill.queues.basic.statistics()).leased, 1)
    const rest: number[] = []
    const other = started(
      mill.worker({
        poll: ['basic'],
        handle: { RUN: (n, { attempt }) => void rest.push(n * attempt) },
      }),
    )
    await clock.advance(0)
    // Each of them once, and in its first attempt.
    assert.deepEqual(
      rest,
      Array.from({ length: 699 }, (_, index) => 301 + index),
    )
    stuck.open()
    await Promise.all([worker.stop(), other.stop()])
  })

  test('is released by a stop, and has cost no attempt', async () => {
    const { mill, backend, clock, worker, stuck, done } = await stuckLine()
    const stopping = worker.stop()
    await clock.advance(0)
    assert.equal((await mill.queues.basic.statistics()).leased, 1)
    stuck.open()
    await stopping
    assert.equal(done.at(-1), 300)
    const rest = await backend.receive({ queue: 'ahead-dev-basic', max: 1_000 })
    assert.equal(rest.length, 699)
    assert.ok(rest.every(({ receiveCount }) => receiveCount === 1))
  })

  test('is nothing while handlers are slow', async () => {
    const { mill, clock, fill, receives } = await line()
    await fill('basic', 100)
    const handler = (): Promise<void> => new Promise((resolve) => clock.after(50, resolve))
    started(mill.worker({ poll: ['basic'], concurrency: 3, handle: { RUN: handler } }))
    await clock.advance(1_000)
    assert.ok(receives.length > 10)
    assert.ok(receives.every(({ prefetch }) => prefetch === undefined))
  })
})

describe('jobs that were claimed together', () => {
  test('do not start on leases that have expired behind a handler that blocks', async () => {
    const { mill, clock, fill, until } = await line()
    await fill('basic', 3)
    const starts: string[] = []
    started(
      mill.worker({
        poll: ['basic'],
        concurrency: 3,
        handle: {
          RUN: (payload, { attempt }) => {
            starts.push(`job ${payload}, attempt ${attempt}`)
            if (starts.length === 1) clock.block(31_000)
          },
        },
      }),
    )
    await until('all are done', async () => {
      const { items } = await mill.jobs.list('basic')
      return items.every(({ status }) => status === 'completed')
    })
    // The first one has lost its lease as well: there is no guard on a virtual clock.
    assert.deepEqual(starts.slice(1), ['job 0, attempt 2', 'job 1, attempt 2', 'job 2, attempt 2'])
  })

  test('start on leases that only look expired because the store was slow to give them', async () => {
    const { clock, mill, until, fill } = await line()
    await fill('basic', 1)
    const attempts: number[] = []
    const worker = mill.worker({
      poll: ['basic'],
      handle: { RUN: (_, { attempt }) => void attempts.push(attempt) },
    })
    worker.start()
    // The claim is on its way: time that passes before its commit does not count.
    clock.block(31_000)
    await until('it is done', () => attempts.length > 0)
    assert.deepEqual(attempts, [1])
  })
})
