import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { z } from 'zod'
import type { SceneOptions, WorkerScene } from '../../test/support/worker-scene.ts'
import { gate, openScene, started, withTime } from '../../test/support/worker-scene.ts'
import type { Backend } from '../backends/backend.ts'
import { defineApp } from '../contracts/define-app.ts'
import { jobs } from '../contracts/jobs-declaration.ts'
import { queue } from '../contracts/queue-declaration.ts'
import { MillraceError } from '../core/millrace-error.ts'
import type { Handlers } from './worker-options.ts'

const app = defineApp('draining', {
  queues: {
    pages: jobs({ types: { PAGE: z.number() }, obeys: 'PAGES_PAUSED' }),
    alone: jobs({ types: { ALONE: z.number() }, concurrency: 1 }),
    mail: queue({ schema: z.string() }),
  },
})
type Draining = typeof app
type Queues = Draining['queues']

interface Scene extends WorkerScene<Draining> {
  readonly handled: unknown[]
  readonly receives: string[]
  worker(
    handle?: Partial<Handlers<Queues, keyof Queues>>,
  ): ReturnType<WorkerScene<Draining>['mill']['worker']>
}

async function scene({
  wrap = (backend) => backend,
  ...options
}: SceneOptions = {}): Promise<Scene> {
  const receives: string[] = []
  const handled: unknown[] = []
  const opened = await openScene(app, {
    ...options,
    wrap: (backend) => {
      const wrapped = wrap(backend)
      return {
        ...wrapped,
        receive: (request) => {
          receives.push(request.queue)
          return wrapped.receive(request)
        },
      }
    },
  })
  const note = (payload: unknown): void => void handled.push(payload)
  return {
    ...opened,
    handled,
    receives,
    worker: (handle) =>
      opened.mill.worker({
        poll: ['pages', 'alone', 'mail'],
        concurrency: 3,
        handle: { PAGE: note, ALONE: note, mail: note, ...handle },
      }),
  }
}

describe('a worker that drains', () => {
  test('is started, runs all that is ready, and stops', async () => {
    const { mill, clock, handled, worker } = await scene()
    for (const page of [1, 2, 3, 4, 5]) await mill.jobs.enqueue('pages', 'PAGE', page)
    for (const one of [6, 7, 8]) await mill.jobs.enqueue('alone', 'ALONE', one)
    await mill.queues.mail.send('a letter')
    const draining = worker()
    await draining.drain()
    assert.deepEqual(handled.toSorted(), [1, 2, 3, 4, 5, 6, 7, 8, 'a letter'])
    const later = await mill.jobs.enqueue('pages', 'PAGE', 9)
    await clock.advance(60_000)
    assert.equal((await mill.jobs.get(later.id))?.status, 'pending')
  })

  test('has nothing to wait for when its queues are empty', async () => {
    const { receives, worker } = await scene()
    await worker().drain()
    assert.equal(receives.length, 2 * 3)
  })

  test('can be started before, and again afterwards', async () => {
    const { mill, handled, worker, settle } = await scene()
    const draining = started(worker())
    await mill.jobs.enqueue('pages', 'PAGE', 1)
    await settle()
    await Promise.all([draining.drain(), draining.drain()])
    await mill.jobs.enqueue('pages', 'PAGE', 2)
    assert.deepEqual(handled, [1])
    await draining.drain()
    assert.deepEqual(handled, [1, 2])
  })

  test('waits for its handlers without asking the store again, and runs what they send', async () => {
    const done = gate()
    const { mill, clock, handled, receives, worker, settle } = await scene()
    await mill.jobs.enqueue('pages', 'PAGE', 1)
    const drained = worker({
      PAGE: async (page, context) => {
        await done.opened
        context.send('mail', `page ${page}`)
        context.enqueue('alone', 'ALONE', page)
      },
    }).drain()
    await settle()
    const before = receives.length
    await clock.advance(10_000)
    assert.equal(receives.length, before)
    assert.deepEqual(handled, [])
    done.open()
    await drained
    assert.deepEqual(handled.toSorted(), [1, 'page 1'])
  })

  test('runs what its handlers send also when a queue is slow to announce it', async () => {
    const wrap = (backend: Backend): Backend => ({
      ...backend,
      whenReady: () => new Promise(() => undefined),
    })
    const { mill, handled, worker } = await scene({ wrap })
    await mill.jobs.enqueue('pages', 'PAGE', 1)
    await worker({ PAGE: (page, context) => context.send('mail', `page ${page}`) }).drain()
    assert.deepEqual(handled, ['page 1'])
  })

  test('leaves what is delayed, and what is retried later', async () => {
    const { mill, clock, handled, worker } = await scene()
    await mill.queues.mail.send('tomorrow', { delay: '15m' })
    const { id } = await mill.jobs.enqueue('pages', 'PAGE', 1)
    const startedAt = clock.now()
    await worker({ PAGE: () => Promise.reject(new Error('no paper')) }).drain()
    const job = await mill.jobs.get(id)
    assert.deepEqual([job?.status, job?.attemptsMade], ['pending', 1])
    assert.deepEqual([handled, clock.now() - startedAt], [[], 0])
  })

  test('leaves what a kill switch holds', async () => {
    const { mill, handled, worker } = await scene()
    await mill.switches.hold({ name: 'PAGES_PAUSED' }, { by: 'test' })
    await mill.jobs.enqueue('pages', 'PAGE', 1)
    await mill.queues.mail.send('a letter')
    await worker().drain()
    assert.deepEqual(handled, ['a letter'])
  })

  test('leaves what another worker runs', async () => {
    const done = gate()
    const { mill, worker, settle } = await scene()
    await mill.jobs.enqueue('pages', 'PAGE', 1)
    const other = started(worker({ PAGE: () => done.opened }))
    await settle()
    await worker().drain()
    assert.equal(other.running, 1)
    done.open()
  })

  test('tries a store again that fails', async () => {
    let failures = 2
    const wrap = (backend: Backend): Backend => ({
      ...backend,
      receive: (request) => {
        failures -= 1
        return failures >= 0
          ? Promise.reject(new MillraceError('store_failed'))
          : backend.receive(request)
      },
    })
    const { mill, clock, handled, worker } = await scene({ wrap })
    await mill.jobs.enqueue('pages', 'PAGE', 1)
    await withTime(clock, worker().drain())
    assert.deepEqual(handled, [1])
  })

  test('rejects when the store is gone', async () => {
    const done = gate()
    const { mill, backend, clock, worker, settle } = await scene()
    await mill.jobs.enqueue('pages', 'PAGE', 1)
    const refused = assert.rejects(worker({ PAGE: () => done.opened }).drain(), {
      code: 'store_closed',
    })
    await settle()
    await backend.close()
    done.open()
    await withTime(clock, refused)
  })

  test('ends when it is stopped', async () => {
    const done = gate()
    const { mill, clock, worker, settle } = await scene()
    await mill.jobs.enqueue('pages', 'PAGE', 1)
    const draining = worker({ PAGE: () => done.opened })
    const drained = draining.drain()
    await settle()
    const stopped = draining.stop()
    done.open()
    await withTime(clock, Promise.all([drained, stopped]))
  })
})
