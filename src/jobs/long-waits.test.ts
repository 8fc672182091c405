import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { z } from 'zod'
import { openJobs } from '../../test/support/jobs-scene.ts'
import { openScene } from '../../test/support/worker-scene.ts'
import { type App, defineApp } from '../contracts/define-app.ts'
import { type JobsQueue, jobs } from '../contracts/jobs-declaration.ts'
import { queue, type StandardQueue } from '../contracts/queue-declaration.ts'
import type { DueOptions } from '../core/due-options.ts'
import { limits } from '../core/limits.ts'
import { MillraceError } from '../core/millrace-error.ts'

const day = 86_400_000
const hour = day / 24
const minute = hour / 60

type Types = { PAGE: z.ZodNumber; PRINT: { schema: z.ZodNumber; expiresAfter: '1h' } }

const office: App<{ pages: JobsQueue<Types>; mail: StandardQueue<z.ZodString> }> = defineApp(
  'office',
  {
    queues: {
      pages: jobs({
        types: { PAGE: z.number(), PRINT: { schema: z.number(), expiresAfter: '1h' } },
        expiresAfter: '2d',
        retention: '1m',
      }),
      mail: queue({ schema: z.string() }),
    },
  },
)

describe('a job that waits', () => {
  test('is due at its time', async () => {
    const { mill, clock } = await openScene(office)
    const far = new Date(clock.now() + 3_650 * day)
    const years = await mill.jobs.enqueue('pages', 'PAGE', 2, { runAt: far })
    const job = await mill.jobs.get(years.id)
    assert.deepEqual([job?.status, job?.runAt], ['pending', far.getTime()])
    await mill.jobs.enqueue('pages', 'PAGE', 1, { runAt: new Date(clock.now() + 20 * minute) })
    const pages: number[] = []
    const worker = mill.worker({
      poll: ['pages'],
      handle: { PAGE: (page) => void pages.push(page), PRINT: () => undefined },
    })
    await worker.drain()
    assert.deepEqual(pages, [])
    await clock.advance(20 * minute)
    await worker.drain()
    assert.deepEqual(pages, [1])
  })

  test('has the limit of its options, its type or its queue', async () => {
    const { mill, clock } = await openScene(office)
    const limitOf = async (type: 'PAGE' | 'PRINT', options = {}): Promise<number> => {
      const { id } = await mill.jobs.enqueue('pages', type, 1, options)
      return ((await mill.jobs.get(id))?.expiresAt ?? 0) - clock.now()
    }
    assert.equal(await limitOf('PAGE'), 2 * day)
    assert.equal(await limitOf('PRINT'), hour)
    assert.equal(await limitOf('PRINT', { expiresAfter: '5s' }), 5_000)
    assert.equal(await limitOf('PRINT', { expiresAfter: '5s', delay: '30d' }), 30 * day + 5_000)
  })

  test('outlives the retention of its queue', async () => {
    const { mill, clock } = await openScene(office)
    const { id } = await mill.jobs.enqueue('pages', 'PAGE', 1)
    await clock.advance(5 * minute)
    assert.equal((await mill.jobs.get(id))?.status, 'pending')
  })

  test('waits for ever without a limit', async () => {
    const { mill } = await openJobs()
    const { id } = await mill.jobs.enqueue('basic', 'OMR', 1)
    assert.equal((await mill.jobs.get(id))?.expiresAt, null)
  })

  test('can be moved to another time, or be due now', async () => {
    const { mill, clock } = await openJobs()
    const { id } = await mill.jobs.enqueue('basic', 'OMR', 1, { delay: '1d' })
    const later = await mill.jobs.reschedule(id, { runAt: new Date(clock.now() + 40 * day) })
    assert.equal(later.runAt, clock.now() + 40 * day)
    const sooner = await mill.jobs.reschedule(id, { delay: '2h' })
    assert.equal(sooner.runAt, clock.now() + 2 * hour)
    assert.equal((await mill.jobs.promote(id)).runAt, null)
    const { ready, delayed } = await mill.queues.basic.statistics()
    assert.deepEqual([ready, delayed], [1, 0])
  })

  test('can only be moved while it waits', async () => {
    const { mill, backend, settleOne } = await openJobs()
    const { id } = await mill.jobs.enqueue('basic', 'OMR', 1)
    await backend.receive({ queue: mill.queues.basic.name, max: 1 })
    await assert.rejects(mill.jobs.promote(id), { code: 'job_running' })
    await assert.rejects(mill.jobs.reschedule(id, { delay: '1m' }), { code: 'job_running' })
    const other = await mill.jobs.enqueue('basic', 'OMR', 2)
    await settleOne({ kind: 'acknowledge' })
    await assert.rejects(mill.jobs.promote(other.id), { code: 'job_finished' })
    await assert.rejects(mill.jobs.promote('no-such-job'), { code: 'job_not_found' })
  })
})

describe('a time that is none', () => {
  const flawed: readonly [string, (now: number) => object][] = [
    ['in the past', (now) => ({ runAt: new Date(now - day) })],
    ['beyond ten years', (now) => ({ runAt: new Date(now + limits.messageDelayMs.max + 1) })],
    ['beside a delay', (now) => ({ runAt: new Date(now + day), delay: '1m' })],
    ['that is not a date', () => ({ runAt: '2040-01-01' })],
  ]

  test.each(flawed)('%s is refused, and nothing is stored', async (_name, flaw) => {
    const { mill, clock } = await openJobs()
    const options = flaw(clock.now()) as DueOptions
    const { id } = await mill.jobs.enqueue('basic', 'OMR', 1, { delay: '1h' })
    const before = await mill.jobs.get(id)
    const refused = { code: 'invalid_argument', message: /^runAt: got / }
    await assert.rejects(mill.jobs.enqueue('basic', 'OMR', 2, options), refused)
    await assert.rejects(mill.queues.mail.send('x', options), refused)
    await assert.rejects(mill.jobs.reschedule(id, options), refused)
    const many = mill.jobs.enqueueMany('basic', [{ type: 'OMR', payload: 3, ...options }])
    await assert.rejects(many, { code: 'invalid_argument', message: /^jobs\[0\]\.runAt: got / })
    assert.deepEqual(await mill.jobs.get(id), before)
    assert.equal((await mill.jobs.list('basic')).items.length, 1)
    assert.equal((await mill.queues.mail.statistics()).delayed, 0)
  })

  test('is also none at all', async () => {
    const { mill } = await openJobs()
    const { id } = await mill.jobs.enqueue('basic', 'OMR', 1)
    await assert.rejects(mill.jobs.reschedule(id, {}), (error) => {
      assert.ok(error instanceof MillraceError)
      return error.code === 'invalid_argument'
    })
  })
})

describe('a message that waits', () => {
  test('is due at its time', async () => {
    const { mill, clock } = await openScene(office)
    await mill.queues.mail.send('later', { runAt: new Date(clock.now() + 20 * minute) })
    await mill.queues.mail.send('at once', { runAt: new Date(clock.now() - 1_000) })
    const first = await mill.queues.mail.receive({ max: 10 })
    assert.deepEqual(
      first.map(({ message }) => message),
      ['at once'],
    )
    await clock.advance(20 * minute)
    const [second] = await mill.queues.mail.receive()
    assert.equal(second?.message, 'later')
  })

  test('is due at that time also if its handler took long to settle', async () => {
    const { mill, clock } = await openScene(office)
    const runAt = clock.now() + 2 * day
    await mill.jobs.enqueue('pages', 'PAGE', 1)
    const worker = mill.worker({
      poll: ['pages'],
      handle: {
        PAGE: async (_page, context) => {
          context.send('mail', 'done', { runAt: new Date(runAt) })
          context.enqueue('pages', 'PRINT', 2, { runAt: new Date(runAt) })
          await clock.advance(3 * 60_000)
        },
        PRINT: () => undefined,
      },
    })
    await worker.drain()
    const { items } = await mill.queues.mail.peek({ state: 'delayed' })
    assert.deepEqual(
      items.map(({ dueAt }) => dueAt),
      [runAt],
    )
    const { items: pending } = await mill.jobs.list('pages', { status: 'pending' })
    assert.deepEqual(
      pending.map((job) => job.runAt),
      [runAt],
    )
  })
})
