import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { academy, openJobs } from '../../test/support/jobs-scene.ts'
import { open } from '../app/open.ts'
import { defineApp } from '../contracts/define-app.ts'
import { queue } from '../contracts/queue-declaration.ts'

describe('the status of a job', () => {
  test('follows its message, whichever program settles it', async () => {
    const { mill, settleOne } = await openJobs()
    const { id } = await mill.jobs.enqueue('basic', 'OCR', { examId: 'e-1' })
    await settleOne({ kind: 'retry', delayMs: 0, error: 'no toner' })
    const waiting = await mill.jobs.get(id)
    assert.deepEqual([waiting?.status, waiting?.error], ['pending', 'no toner'])
    await settleOne({ kind: 'acknowledge', result: '{"pages":3}' })
    const done = await mill.jobs.get(id)
    assert.deepEqual([done?.status, done?.result, done?.progress], ['completed', { pages: 3 }, 1])
    assert.deepEqual(
      (await mill.jobs.attempts(id)).map(({ attempt, outcome }) => [attempt, outcome]),
      [
        [1, 'retried'],
        [2, 'completed'],
      ],
    )
  })

  test('is unknown where there is no such job', async () => {
    const { mill } = await openJobs()
    assert.equal(await mill.jobs.get('no-such-job'), undefined)
    assert.deepEqual(await mill.jobs.attempts('no-such-job'), [])
    for (const call of ['cancel', 'retry', 'waitFor'] as const) {
      await assert.rejects(mill.jobs[call]('no-such-job'), { code: 'job_not_found' })
    }
  })

  test('keeps a text of other programs that is no JSON', async () => {
    const { mill, backend } = await openJobs()
    const jobs = [{ type: 'OCR', payload: 'not json', maxAttempts: 1 }]
    const [enqueued] = (await backend.jobs?.enqueue({ queue: mill.queues.basic.name, jobs })) ?? []
    assert.equal((await mill.jobs.get(enqueued?.id ?? ''))?.payload, 'not json')
  })
})

describe('many jobs', () => {
  test('are refused where they are not an array', async () => {
    const { mill } = await openJobs()
    await assert.rejects(mill.jobs.enqueueMany('basic', 'OMR' as never), {
      code: 'invalid_argument',
      message: /^jobs: got 'OMR', expected an array/,
    })
  })
})

describe('a list of jobs', () => {
  test('is newest first, page by page', async () => {
    const { mill } = await openJobs()
    const payloads = [1, 2, 3, 4, 5]
    await mill.jobs.enqueueMany(
      'basic',
      payloads.map((payload) => ({ type: 'OMR', payload })),
    )
    const page = await mill.jobs.list('basic', { limit: 3 })
    assert.ok(page.next !== undefined)
    const rest = await mill.jobs.list('basic', { limit: 3, after: page.next })
    assert.deepEqual(
      [page, rest].map(({ items }) => items.map(({ payload }) => payload)),
      [
        [5, 4, 3],
        [2, 1],
      ],
    )
    assert.equal(rest.next, undefined)
  })

  test('holds the jobs of one queue that have the status, type and owner', async () => {
    const { mill, settleOne } = await openJobs()
    const payload = { examId: 'e' }
    const done = await mill.jobs.enqueue('basic', 'OCR', payload, { owner: 'u' })
    await settleOne({ kind: 'acknowledge' })
    const own = await mill.jobs.enqueue('basic', 'OCR', payload, { owner: 'u' })
    const other = await mill.jobs.enqueue('basic', 'OMR', payload, { owner: 'v' })
    const lite = await mill.jobs.enqueue('lite', 'OCR', payload)
    const ids = async (options: Parameters<typeof mill.jobs.list>[1]): Promise<string[]> =>
      (await mill.jobs.list('basic', options)).items.map(({ id }) => id)
    assert.deepEqual(await ids({}), [other.id, own.id, done.id])
    assert.deepEqual(await ids({ status: 'completed' }), [done.id])
    assert.deepEqual(await ids({ type: 'OMR' }), [other.id])
    assert.deepEqual(await ids({ owner: 'u', status: 'pending' }), [own.id])
    assert.deepEqual((await mill.jobs.list('lite')).items[0]?.id, lite.id)
  })

  test('refuses a page that is none and a status that does not exist', async () => {
    const { mill } = await openJobs()
    for (const options of [{ limit: 0 }, { after: 'x' }, { status: 'done' as 'completed' }]) {
      await assert.rejects(mill.jobs.list('basic', options), { code: 'invalid_argument' })
    }
  })
})

describe('cancelling and retrying', () => {
  test('end a job for good, and begin a new one in its place', async () => {
    const { mill } = await openJobs()
    const { id } = await mill.jobs.enqueue('basic', 'OCR', { examId: 'e' }, { owner: 'u' })
    await assert.rejects(mill.jobs.retry(id), { code: 'job_not_finished' })
    assert.equal((await mill.jobs.cancel(id)).status, 'cancelled')
    await assert.rejects(mill.jobs.cancel(id), { code: 'job_finished' })
    assert.equal((await mill.queues.basic.statistics()).ready, 0)

    const again = await mill.jobs.retry(id)
    assert.equal(again.status, 'created')
    const job = await mill.jobs.get(again.id)
    assert.deepEqual([job?.status, job?.owner, job?.retryOf], ['pending', 'u', id])
    assert.equal((await mill.jobs.get(id))?.status, 'cancelled')
  })
})

describe('cancelling a job that runs', () => {
  test('takes the lease from the worker that runs it', async () => {
    const { mill, backend } = await openJobs()
    const { id } = await mill.jobs.enqueue('basic', 'OCR', { examId: 'e' })
    const { name } = mill.queues.basic
    const [delivery] = await backend.receive({ queue: name, max: 1 })
    assert.equal((await mill.jobs.get(id))?.status, 'processing')
    await mill.jobs.cancel(id)
    const { receipt } = delivery ?? assert.fail()
    const settlements = [{ receipt, outcome: { kind: 'acknowledge', result: '1' } as const }]
    assert.deepEqual(await backend.settle({ queue: name, settlements }), [{ status: 'gone' }])
    const job = await mill.jobs.get(id)
    assert.deepEqual([job?.status, job?.result], ['cancelled', null])
  })
})

describe('waiting for a job', () => {
  test('gives the job with its result when it has finished', async () => {
    const { mill, clock, settleOne } = await openJobs()
    const { id } = await mill.jobs.enqueue('basic', 'OCR', { examId: 'e' })
    const waiting = mill.jobs.waitFor(id, { timeout: '10s' })
    await clock.advance(1_000)
    await settleOne({ kind: 'acknowledge', result: '[1,2]' })
    await clock.advance(100)
    const { status, result } = await waiting
    assert.deepEqual([status, result], ['completed', [1, 2]])
  })

  test('gives a job that had failed before, at once', async () => {
    const { mill, settleOne } = await openJobs()
    const { id } = await mill.jobs.enqueue('basic', 'OCR', { examId: 'e' })
    await settleOne({ kind: 'deadLetter', reason: 'unreadable' })
    const { status, error } = await mill.jobs.waitFor(id, { timeout: '0s' })
    assert.deepEqual([status, error], ['failed', 'unreadable'])
  })

  test('is refused at the deadline, and the job continues', async () => {
    const { mill, clock } = await openJobs()
    const { id } = await mill.jobs.enqueue('basic', 'OCR', { examId: 'e' })
    const startedAt = clock.monotonic()
    let refusedAt: number | undefined
    const refused = assert.rejects(
      mill.jobs.waitFor(id, { timeout: '250ms' }).finally(() => {
        refusedAt = clock.monotonic() - startedAt
      }),
      { code: 'wait_timed_out', retryable: true },
    )
    await clock.advance(1_000)
    await refused
    assert.equal(refusedAt, 250)
    assert.equal((await mill.jobs.get(id))?.status, 'pending')
  })

  test('sees an end that comes with the deadline', async () => {
    const { mill, clock } = await openJobs()
    const { id } = await mill.jobs.enqueue('basic', 'OCR', { examId: 'e' })
    const waiting = mill.jobs.waitFor(id, { timeout: '150ms' })
    await clock.advance(120)
    await mill.jobs.cancel(id)
    await clock.advance(30)
    assert.equal((await waiting).status, 'cancelled')
  })

  test('ends with its signal and leaves no timer behind', async () => {
    const { mill, clock } = await openJobs()
    const { id } = await mill.jobs.enqueue('basic', 'OCR', { examId: 'e' })
    const giveUp = new AbortController()
    // Agents that begin at once plan their next look when they are done.
    await clock.advance(50)
    const timersBefore = clock.pendingTimers
    const refused = assert.rejects(mill.jobs.waitFor(id, { signal: giveUp.signal }), {
      name: 'AbortError',
    })
    await clock.advance(50)
    giveUp.abort()
    await refused
    assert.equal(clock.pendingTimers, timersBefore)
    await assert.rejects(mill.jobs.waitFor(id, { timeout: 'soon' as '1s' }), {
      code: 'invalid_argument',
      message: /^timeout:/,
    })
  })
})

describe('an app with jobs', () => {
  test('offers no untyped way around them', async () => {
    const { mill } = await openJobs()
    assert.deepEqual(Object.keys(mill.queues.basic).sort(), [
      'deadLetters',
      'name',
      'peek',
      'purge',
      'statistics',
    ])
    assert.equal(typeof mill.queues.mail.send, 'function')
  })

  test('is not opened on a backend that tracks none', async () => {
    const { backend } = await openJobs()
    const capabilities = { ...backend.capabilities, name: 'plain', trackedJobs: false }
    for (const plain of [
      { ...backend, jobs: null },
      { ...backend, capabilities },
    ]) {
      await assert.rejects(open(academy, { backend: plain, stage: 'other' }), {
        code: 'unsupported',
        message: /^academy-other-basic: got a queue of tracked jobs, expected none on /,
      })
    }
    await assert.rejects(backend.readQueue({ queue: 'academy-other-mail' }), {
      code: 'queue_not_found',
    })

    const mailOnly = defineApp('mail', { queues: { mail: queue() } })
    await using mill = await open(mailOnly, { backend: { ...backend, jobs: null } })
    await assert.rejects(mill.jobs.get('any'), { code: 'unsupported' })
  })
})
