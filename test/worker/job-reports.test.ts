/** Jobs that another program runs: what it reports with its receipt has the effects of a worker's handler. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { z } from 'zod'
import type { Backend, Delivery } from '../../src/backends/backend.ts'
import { defineApp, jobs } from '../../src/index.ts'
import { createJobReports, type JobReports } from '../../src/worker/job-reports.ts'
import { academy as courses, statesOf } from '../flows/academy.ts'
import { openScene, type WorkerScene } from '../support/worker-scene.ts'

const second = 1_000

const academy = defineApp('academy', {
  queues: {
    basic: jobs({
      types: {
        OCR: {
          schema: z.object({ page: z.number(), token: z.string().optional() }),
          result: z.object({ words: z.number() }),
          backoff: { from: '7s', jitter: 0 },
          secret: ['token'],
        },
        OMR: z.object({ sheet: z.number() }),
      },
      attempts: 2,
      visibilityTimeout: '30s',
      backoff: { from: '3s', jitter: 0 },
    }),
  },
})

const queue = 'academy-dev-basic'

interface Running {
  readonly scene: WorkerScene<typeof academy>
  readonly reports: JobReports
  readonly id: string
  readonly receipt: string
  fate(): Promise<readonly unknown[]>
}

async function receive({ backend }: { readonly backend: Backend }): Promise<Delivery> {
  const [delivery] = await backend.receive({ queue, max: 1 })
  return delivery ?? assert.fail('there was no job')
}

async function running(options: { readonly isOmr?: true; token?: string } = {}): Promise<Running> {
  const scene = await openScene(academy)
  const { mill } = scene
  const { token } = options
  const { id } = options.isOmr
    ? await mill.jobs.enqueue('basic', 'OMR', { sheet: 1 })
    : await mill.jobs.enqueue('basic', 'OCR', { page: 1, ...(token && { token }) })
  const { receipt } = await receive(scene)
  return {
    scene,
    reports: mill.reports,
    id,
    receipt,
    async fate() {
      const job = await mill.jobs.get(id)
      return [job?.status, job?.attemptsMade, job?.result, job?.error]
    },
  }
}

const error = { name: 'ValueError', message: 'the page is upside down' }
const summary = 'ValueError: the page is upside down'

describe('the holder of a job reports', () => {
  test('its progress', async () => {
    const { scene, reports, id, receipt } = await running()
    const reported = await reports.progress(id, { receipt, progress: 0.4 })
    assert.deepEqual(reported, { status: 'reported', job: 'processing' })
    assert.equal((await scene.mill.jobs.get(id))?.progress, 0.4)
    await assert.rejects(reports.progress(id, { receipt, progress: 2 }), /progress: got 2/)
  })

  test('its result, which completes the job', async () => {
    const { reports, id, receipt, fate, scene } = await running()
    const reported = await reports.complete(id, { receipt, result: { words: 7 } })
    assert.deepEqual(reported, { status: 'reported', job: 'completed' })
    assert.deepEqual(await fate(), ['completed', 1, { words: 7 }, null])
    assert.ok(scene.messages().includes('job completed'))
  })

  test('no result, where the type asks for none', async () => {
    const { reports, id, receipt, fate } = await running({ isOmr: true })
    await reports.complete(id, { receipt })
    assert.deepEqual(await fate(), ['completed', 1, null, null])
  })

  test('a failure, and the job waits by the backoff of its type, or of its queue', async () => {
    for (const [options, retryInMs] of [
      [{}, 7 * second],
      [{ isOmr: true }, 3 * second],
    ] as const) {
      const { scene, reports, id, receipt, fate } = await running(options)
      const reported = await reports.fail(id, { receipt, error })
      assert.deepEqual(reported, { status: 'reported', job: 'pending', retryInMs })
      assert.deepEqual(await fate(), ['pending', 1, null, summary])
      await scene.clock.advance(retryInMs - 1)
      assert.deepEqual(await scene.backend.receive({ queue, max: 1, waitMs: 0 }), [])
      await scene.clock.advance(1)
      assert.equal((await receive(scene)).job?.attempt, 2)
      const line = scene.lines.find(({ message }) => message === 'job retried')
      assert.deepEqual([line?.level, line?.fields['error']], ['warn', summary])
    }
  })

  test('a failure of the last attempt, after which the job has failed', async () => {
    const { scene, reports, id, receipt, fate } = await running()
    await reports.fail(id, { receipt, error, retry: { delay: '1s' } })
    await scene.clock.advance(second)
    const last = await receive(scene)
    const again = { receipt: last.receipt, error, retry: { delay: '1s' } } as const
    assert.deepEqual(await reports.fail(id, again), { status: 'reported', job: 'failed' })
    assert.deepEqual(await fate(), ['failed', 2, null, summary])
  })

  test('a failure for good', async () => {
    for (const report of [
      { error, retry: false },
      { error: { ...error, name: 'UnrecoverableError' } },
    ]) {
      const { reports, id, receipt, fate } = await running()
      assert.equal((await reports.fail(id, { receipt, ...report })).job, 'failed')
      assert.equal((await fate())[0], 'failed')
    }
  })

  test('an extension', async () => {
    const { scene, reports, id, receipt, fate } = await running()
    const leaseExpiresAt = scene.clock.now() + 120 * second
    const reported = await reports.extend(id, { receipt, for: '2m' })
    assert.deepEqual(reported, { status: 'reported', job: 'processing', leaseExpiresAt })
    await scene.clock.advance(119 * second)
    assert.equal((await fate())[0], 'processing')
    await assert.rejects(reports.extend(id, { receipt, for: '13h' }), /for: got/)
  })

  test('no secret of the payload: it is taken out of the error', async () => {
    const { reports, id, receipt, fate } = await running({ token: 'hush-1234' })
    const quoting = { message: 'could not log in with hush-1234', name: 'hush-1234' }
    await reports.fail(id, { receipt, error: quoting })
    assert.equal((await fate())[3], '[hidden]: could not log in with [hidden]')
  })

  test('a step of a chain, and the next step starts with its result', async () => {
    const scene = await openScene(courses)
    const { mill, backend } = scene
    await mill.chains.course.start('c', { topic: 'tides' })
    const { name } = mill.queues.courses
    const [first] = await backend.receive({ queue: name, max: 1 })
    await mill.reports.complete(first?.id ?? '', {
      receipt: first?.receipt ?? '',
      result: { chapters: 3 },
    })
    const [next] = await backend.receive({ queue: name, max: 1 })
    assert.equal(next?.job?.type, 'WRITE')
    assert.deepEqual(JSON.parse(next?.body ?? ''), { topic: 'tides', chapters: 3 })
    await mill.reports.fail(next?.id ?? '', {
      receipt: next?.receipt ?? '',
      error: { message: 'no ideas' },
      retry: false,
    })
    assert.deepEqual(await statesOf(scene, 'c'), ['done', 'failed', 'waiting'])
  })
})

describe('a report is refused, and changes nothing,', () => {
  const reportsOf = (reports: JobReports, id: string, receipt: string) => [
    () => reports.progress(id, { receipt, progress: 0.9 }),
    () => reports.complete(id, { receipt, result: { words: 1 } }),
    () => reports.fail(id, { receipt, error }),
    () => reports.fail(id, { receipt, error, retry: false }),
    () => reports.extend(id, { receipt, for: '1m' }),
  ]

  test('when the lease has lapsed, when another holds the job, and when it has ended', async () => {
    const { scene, reports, id, receipt, fate } = await running()
    await scene.clock.advance(31 * second)
    for (const report of reportsOf(reports, id, receipt)) {
      assert.deepEqual(await report(), { status: 'lapsed', job: 'pending' })
    }
    const { receipt: current } = await receive(scene)
    for (const report of reportsOf(reports, id, receipt)) {
      assert.deepEqual(await report(), { status: 'stale', job: 'processing' })
    }
    assert.deepEqual((await fate()).slice(0, 2), ['processing', 2])
    assert.equal((await scene.mill.jobs.get(id))?.progress, 0)
    await scene.mill.jobs.cancel(id)
    for (const report of reportsOf(reports, id, current)) {
      assert.deepEqual(await report(), { status: 'gone', job: 'cancelled' })
    }
  })

  test('with the receipt of another job, of another queue, or of none', async () => {
    const { scene, reports, id, receipt, fate } = await running()
    const other = await scene.mill.jobs.enqueue('basic', 'OMR', { sheet: 1 })
    const { receipt: foreign } = await receive(scene)
    await scene.backend.createQueue({ queue: 'elsewhere' })
    await scene.backend.send({ queue: 'elsewhere', messages: [{ body: '1' }] })
    const [elsewhere] = await scene.backend.receive({ queue: 'elsewhere', max: 1 })
    for (const one of [foreign, elsewhere?.receipt ?? '']) {
      for (const report of reportsOf(reports, id, one)) {
        await assert.rejects(report(), { code: 'job_not_found' })
      }
    }
    for (const report of reportsOf(reports, 'no-job', receipt)) {
      await assert.rejects(report(), { code: 'job_not_found' })
    }
    // The next receipt cannot be worked out from this one.
    const [prefix, ...numbers] = receipt.split('-')
    const forged = [prefix, ...numbers.map((number) => `${Number(number) + 1}`)].join('-')
    for (const mangled of ['', 'r1', `${receipt}1`, receipt.slice(0, -1), forged]) {
      for (const report of reportsOf(reports, id, mangled)) {
        await assert.rejects(report(), { code: 'receipt_invalid', message: /^receipt: / })
      }
    }
    assert.deepEqual((await fate()).slice(0, 2), ['processing', 1])
    assert.equal((await scene.mill.jobs.get(other.id))?.status, 'processing')
  })

  test('when the queue was deleted', async () => {
    const { scene, reports, id, receipt } = await running()
    await scene.backend.deleteQueue({ queue })
    for (const report of reportsOf(reports, id, receipt)) {
      await assert.rejects(report(), { code: 'job_not_found' })
    }
  })

  test('with a result that does not fit the type, or is too large', async () => {
    const { reports, id, receipt, fate } = await running()
    await assert.rejects(reports.complete(id, { receipt, result: { words: 'many' } }), {
      code: 'invalid_message',
      message: /result\.words: got a string, expected number/,
    })
    await assert.rejects(reports.complete(id, { receipt }), { code: 'invalid_message' })
    assert.equal((await fate())[0], 'processing')
    const large = await running({ isOmr: true })
    const result = 'x'.repeat(2 ** 20)
    await assert.rejects(large.reports.complete(large.id, { receipt: large.receipt, result }), {
      code: 'message_too_large',
    })
    assert.equal((await large.fate())[0], 'processing')
  })

  test('with fields that it does not have, or that make no sense', async () => {
    const { reports, id, receipt, fate } = await running()
    for (const [report, message] of [
      [{}, /error: got undefined, expected an object with a message/],
      [{ error: 'text' }, /error: got 'text'/],
      [{ error: {} }, /error\.message: got undefined/],
      [{ error: { message: 'm', name: 5 } }, /error\.name: got 5/],
      [{ error: { message: 'm', trace: 'x' } }, /error\.trace/],
      [{ error, retry: 'soon' }, /retry: got 'soon'/],
      [{ error, retry: { delay: 'soon' } }, /retry\.delay/],
      [{ error, retry: { in: '5s' } }, /retry\.in/],
      [{ error, retry: { delay: '13h' } }, /retry\.delay: got/],
      [{ error, reason: 'x' }, /reason/],
    ] as const) {
      // @ts-expect-error: what a program without types may send
      await assert.rejects(reports.fail(id, { receipt, ...report }), {
        code: 'invalid_argument',
        message,
      })
    }
    assert.deepEqual((await fate()).slice(0, 2), ['processing', 1])
  })
})

test('jobs of a queue that no app declares are reported on by the rules of the store', async () => {
  const scene = await openScene(academy)
  const { backend, ports } = scene
  await backend.createQueue({ queue: 'free', settings: { hidden: ['pin'] } })
  const [enqueued] =
    (await backend.jobs?.enqueue({
      queue: 'free',
      jobs: [{ type: 'ANY', payload: '{"pin":"98765"}', backoff: { ...flat, fromMs: 2_000 } }],
    })) ?? []
  const [delivery] = await backend.receive({ queue: 'free', max: 1 })
  const reports = createJobReports({ backend, ports, find: () => undefined })
  const id = enqueued?.id ?? ''
  const message = 'the pin 98765 is wrong'
  const reported = await reports.fail(id, { receipt: delivery?.receipt ?? '', error: { message } })
  assert.deepEqual(reported, { status: 'reported', job: 'pending', retryInMs: 2_000 })
  assert.equal((await backend.jobs?.read({ id }))?.error, 'the pin [hidden] is wrong')
})

const flat = { factor: 1, maxMs: 10_000, jitter: 0 }
