import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { z } from 'zod'
import {
  aborted,
  gate,
  openScene,
  type SceneOptions,
  started,
  type WorkerScene,
  withTime,
} from '../../test/support/worker-scene.ts'
import type { Backend } from '../backends/backend.ts'
import { defineApp } from '../contracts/define-app.ts'
import { jobs } from '../contracts/jobs-declaration.ts'
import { MillraceError } from '../core/millrace-error.ts'
import type { HandlerContext } from './handler-context.ts'
import type { Worker } from './worker.ts'

const app = defineApp('stopping', {
  queues: {
    basic: jobs({ types: { RUN: z.unknown() }, visibilityTimeout: '2m' }),
    lite: jobs({ types: { RUN: z.unknown() } }),
  },
})

type Stopping = typeof app
type Handle = (payload: unknown, context: HandlerContext<Stopping['queues']>) => unknown

interface Shop extends WorkerScene<Stopping> {
  readonly worker: Worker
  statusOf(id: string): Promise<readonly [status?: string, attemptsMade?: number]>
}

async function shop(handle: Handle, options: SceneOptions = {}): Promise<Shop> {
  const scene = await openScene(app, options)
  const worker = scene.mill.worker({ poll: ['basic'], handle: { RUN: handle }, stopTimeout: '10s' })
  return {
    ...scene,
    worker,
    async statusOf(id) {
      const job = await scene.mill.jobs.get(id)
      return job === undefined ? [] : [job.status, job.attemptsMade]
    },
  }
}

describe('a worker that is stopped', () => {
  test('waits for what it runs, and takes nothing more', async () => {
    const done = gate()
    const { mill, worker, settle, clock, statusOf } = await shop(() => done.opened)
    worker.start()
    const first = await mill.jobs.enqueue('basic', 'RUN', 1)
    await settle()
    const stopped = worker.stop()
    const second = await mill.jobs.enqueue('basic', 'RUN', 2)
    await clock.advance(9_000)
    assert.deepEqual(await statusOf(first.id), ['processing', 1])
    done.open()
    await withTime(clock, stopped)
    assert.deepEqual(await statusOf(first.id), ['completed', 1])
    assert.deepEqual(await statusOf(second.id), ['pending', 0])
    assert.equal(worker.running, 0)
  })

  test('asks handlers to stop when they take too long, and their attempt costs nothing', async () => {
    const reasons: unknown[] = []
    const { mill, worker, settle, clock, statusOf } = await shop(async (_, { signal }) => {
      await aborted(signal)
      reasons.push(signal.reason.kind)
      throw signal.reason
    })
    worker.start()
    const { id } = await mill.jobs.enqueue('basic', 'RUN', 1)
    await settle()
    const stopped = worker.stop()
    await clock.advance(9_999)
    assert.deepEqual(reasons, [])
    await clock.advance(1)
    await stopped
    assert.deepEqual(reasons, ['shutdown'])
    assert.deepEqual(await statusOf(id), ['pending', 0])
    assert.deepEqual(await mill.jobs.attempts(id), [])
  })

  test('hands back the work of a handler that does not stop, which is then of no effect', async () => {
    const done = gate<string>()
    const { mill, worker, settle, clock, statusOf } = await shop(() => done.opened)
    worker.start()
    const { id } = await mill.jobs.enqueue('basic', 'RUN', 1)
    await settle()
    const stopped = worker.stop({ timeoutMs: 0 })
    await clock.advance(999)
    assert.deepEqual(await statusOf(id), ['processing', 1])
    await clock.advance(1)
    await stopped
    assert.deepEqual(await statusOf(id), ['pending', 0])
    done.open('too late')
    await settle()
    assert.deepEqual(await statusOf(id), ['pending', 0])
  })

  test('keeps the leases of what it waits for', async () => {
    const done = gate()
    const scene = await openScene(app)
    const { mill, clock } = scene
    const worker = started(
      mill.worker({ poll: ['lite'], handle: { RUN: () => done.opened }, stopTimeout: '2m' }),
    )
    const { id } = await mill.jobs.enqueue('lite', 'RUN', 1)
    await scene.settle()
    const stopped = worker.stop()
    await clock.advance(90_000)
    done.open()
    await withTime(clock, stopped)
    const job = await mill.jobs.get(id)
    assert.deepEqual([job?.status, job?.attemptsMade], ['completed', 1])
  })

  test('hands back at no cost what arrives when it has stopped', async () => {
    const asked = gate()
    const answered = gate()
    const wrap = (backend: Backend): Backend => ({
      ...backend,
      receive: async (request) => {
        const deliveries = await backend.receive(request)
        asked.open()
        await answered.opened
        return deliveries
      },
    })
    const { mill, worker, statusOf, clock } = await shop(() => assert.fail('it was run'), { wrap })
    const { id } = await mill.jobs.enqueue('basic', 'RUN', 1)
    worker.start()
    await asked.opened
    const stopped = worker.stop()
    await clock.advance(1_000)
    assert.deepEqual(await statusOf(id), ['processing', 1])
    answered.open()
    await stopped
    assert.deepEqual(await statusOf(id), ['pending', 0])
  })

  test('does not wait for a store that fails longer than for a handler', async () => {
    let isBroken = false
    const wrap = (backend: Backend): Backend => ({
      ...backend,
      settle: (request) =>
        isBroken ? Promise.reject(new MillraceError('store_failed')) : backend.settle(request),
    })
    const { mill, worker, settle, clock } = await shop(() => 'done', { wrap })
    isBroken = true
    worker.start()
    await mill.jobs.enqueue('basic', 'RUN', 1)
    await settle()
    let isStopped = false
    void worker.stop().then(() => {
      isStopped = true
    })
    await clock.advance(10_000)
    assert.equal(isStopped, false)
    await clock.advance(2_000)
    assert.equal(isStopped, true)
  })

  test('leaves no timer behind', async () => {
    const { mill, worker, settle, clock } = await shop(() => 'done')
    worker.start()
    await withTime(clock, worker.stop())
    await clock.advance(1_000)
    const before = clock.pendingTimers
    worker.start()
    await mill.jobs.enqueue('basic', 'RUN', 1)
    await settle()
    await withTime(clock, worker.stop())
    // The keeper's tick ends by itself when there is nothing to keep.
    await clock.advance(1_000)
    assert.equal(clock.pendingTimers, before)
  })
})

describe('starting and stopping', () => {
  test('can be repeated, and calls share one promise', async () => {
    const done = gate()
    let runs = 0
    const { mill, worker, settle, clock } = await shop(() => {
      runs += 1
      return runs === 1 ? done.opened : undefined
    })
    await worker.stop()
    worker.start()
    worker.start()
    await mill.jobs.enqueue('basic', 'RUN', 1)
    await settle()
    assert.deepEqual([runs, worker.running], [1, 1])
    const stopped = worker.stop()
    assert.equal(worker.stop(), stopped)
    assert.throws(() => worker.start(), {
      code: 'invalid_argument',
      message: 'The worker is still stopping. Await stop() before you start it again.',
    })
    done.open()
    await withTime(clock, stopped)
    await worker.stop()
    worker.start()
    await mill.jobs.enqueue('basic', 'RUN', 2)
    await settle()
    assert.equal(runs, 2)
  })

  test('work after a stop in the middle of a claim', async () => {
    let runs = 0
    const { mill, worker, settle } = await shop(() => {
      runs += 1
    })
    await mill.jobs.enqueue('basic', 'RUN', 1)
    worker.start()
    await worker.stop()
    worker.start()
    await settle()
    assert.equal(runs, 1)
  })

  test('of run() answers when the worker is stopped, to everybody who waits', async () => {
    const { worker, settle } = await shop(() => undefined)
    const runs = [worker.run(), worker.run()]
    await settle()
    await worker.stop()
    await Promise.all(runs)
    assert.equal(process.listenerCount('SIGTERM'), 0)
  })

  test('is done by mill.close(), before the store is closed', async () => {
    const done = gate()
    const { mill, worker, settle, clock, statusOf, backend } = await shop(() => done.opened)
    worker.start()
    const { id } = await mill.jobs.enqueue('basic', 'RUN', 1)
    await settle()
    const closed = mill.close()
    done.open()
    await withTime(clock, closed)
    const job = await backend.jobs?.read({ id })
    assert.deepEqual([job?.status, job?.attemptsMade], ['completed', 1])
    assert.equal((await statusOf(id))[0], 'completed')
  })

  test('ends by itself when the store is closed under the worker', async () => {
    const { worker, settle, backend, clock, lines } = await shop(() => undefined)
    const run = worker.run()
    await settle()
    await backend.close()
    await withTime(clock, run)
    assert.ok(lines.some(({ message }) => message === 'work could not be claimed'))
  })

  test('ends with the error when the files of the store were replaced under the worker', async () => {
    let isReplaced = false
    const wrap = (backend: Backend): Backend => ({
      ...backend,
      receive: (request) =>
        isReplaced ? Promise.reject(new MillraceError('store_replaced')) : backend.receive(request),
    })
    const { mill, worker, settle, clock } = await shop(() => undefined, { wrap })
    const run = assert.rejects(worker.run(), { code: 'store_replaced' })
    await settle()
    isReplaced = true
    await mill.jobs.enqueue('basic', 'RUN', 1)
    await withTime(clock, run)
    assert.equal(worker.running, 0)
  })
})

describe('a worker without work', () => {
  test('keeps its process alive for as long as it waits', async () => {
    const scene = await openScene(app)
    const { ports, clock, backend } = scene
    let alive = 0
    const timers = {
      soon: (run: () => void) => clock.soon(run),
      after: (delayMs: number, run: () => void, options?: { readonly background?: boolean }) => {
        const counts = options?.background ? 0 : 1
        alive += counts
        let isOver = false
        const end = (): void => {
          alive -= isOver ? 0 : counts
          isOver = true
        }
        const cancel = clock.after(delayMs, () => {
          end()
          run()
        })
        return () => {
          end()
          cancel()
        }
      },
    }
    const { open } = await import('../app/open.ts')
    const mill = await open(app, { backend, ports: { ...ports, timers } })
    const worker = started(mill.worker({ poll: ['basic'], handle: { RUN: () => undefined } }))
    await clock.advance(180_000)
    assert.equal(alive, 1)
    await withTime(clock, worker.stop())
    assert.equal(alive, 0)
    await withTime(clock, mill.close())
  })
})
