import assert from 'node:assert/strict'
import type { Outcome } from '../../backends/backend.ts'
import type { JobRecord } from '../../backends/job-store.ts'
import { labelsOf, noLabels } from '../../core/job-labels.ts'
import { attemptOutcomes, enqueue, jobsOf, ocrJob, readJob, runOnce } from './job-scene.ts'
import { hour, minute, only, rejects, second } from './scene.ts'
import type { ContractSuite } from './suite.ts'

export function describeJobs(all: ContractSuite): void {
  const suite = all.needing('trackedJobs')
  suite.describe('tracked jobs', () => {
    describeLife(suite)
    describeAttempts(suite)
    describeControl(suite)
    describeListing(suite)
  })
}

const labels = { tier: 'lite', traceId: 'trace-1', tags: ['a', 'b'] }

function describeLife(suite: ContractSuite): void {
  suite.test('a job is pending, then processing, then completed with its result', async (scene) => {
    await scene.queue('q')
    const backoff = { fromMs: 100, factor: 1.5, maxMs: 10_000, jitter: 0.5 }
    const details = { owner: 'ann', tenant: 'g', ...labels }
    const { id, status } = await enqueue(scene, { ...details, backoff })
    assert.equal(status, 'created')
    const pending = await readJob(scene, id)
    assert.equal(pending.backendId, (await scene.peek('q', 'ready'))[0]?.id)
    assert.deepEqual(
      [pending.status, pending.attemptsMade, pending.startedAt, pending.payload],
      ['pending', 0, null, ocrJob.payload],
    )
    const { owner, tenant, type, maxAttempts, queue } = pending
    assert.deepEqual({ owner, tenant, ...labelsOf(pending) }, details)
    assert.deepEqual([type, maxAttempts, queue], ['OCR', 2, 'q'])

    await scene.advance(second)
    const delivery = await scene.receiveOne('q')
    assert.deepEqual(delivery.job, {
      ...{ id, type: 'OCR', attempt: 1, maxAttempts: 2, lostBefore: false },
      ...{ owner: 'ann', ...labels, backoff },
    })
    assert.equal(delivery.group, 'g')
    const processing = await readJob(scene, id)
    assert.deepEqual([processing.status, processing.attemptsMade], ['processing', 1])
    assert.equal(processing.startedAt, processing.createdAt + second)

    await scene.advance(second)
    await scene.settle('q', delivery.receipt, { kind: 'acknowledge', result: '{"words":7}' })
    const completed = await readJob(scene, id)
    assert.deepEqual(
      [completed.status, completed.result, completed.progress, completed.payload],
      ['completed', '{"words":7}', 1, ocrJob.payload],
    )
    assert.equal(completed.finishedAt, completed.createdAt + 2 * second)
    assert.deepEqual(await scene.counts('q'), { ready: 0, leased: 0, delayed: 0 })
  })

  suite.test('jobs that are completed in one call end each by its own lease', async (scene) => {
    await scene.queue('q', { visibilityMs: 10 * second })
    const ids = []
    for (let index = 0; index < 4; index += 1) ids.push((await enqueue(scene)).id)
    await runOnce(scene, { kind: 'acknowledge', result: '0' })
    const receipts = (await scene.receive('q', { max: 3 })).map(({ receipt }) => receipt)
    const [first = '', lapsed = '', last = ''] = receipts
    const leases = [first, last].map((receipt) => ({ receipt, visibilityMs: minute }))
    await scene.backend.extend({ queue: 'q', leases })
    await scene.advance(11 * second)
    const again = await scene.receiveOne('q')
    const complete = async (...held: readonly string[]): Promise<readonly string[]> => {
      const outcome = { kind: 'acknowledge', result: '7' } as const
      const settlements = held.map((receipt) => ({ receipt, outcome }))
      const results = await scene.backend.settle({ queue: 'q', settlements })
      return results.map(({ status }) => status)
    }
    assert.deepEqual(await complete(first, lapsed, last), ['settled', 'stale', 'settled'])
    assert.deepEqual(await scene.counts('q'), { ready: 0, leased: 1, delayed: 0 })
    assert.deepEqual(await complete(first, again.receipt, last), ['gone', 'settled', 'gone'])
    const records = await Promise.all(ids.map((id) => readJob(scene, id)))
    assert.deepEqual(
      records.map(({ status, result, attemptsMade }) => [status, result, attemptsMade]),
      [
        ['completed', '0', 1],
        ['completed', '7', 1],
        ['completed', '7', 2],
        ['completed', '7', 1],
      ],
    )
    assert.equal((await scene.statistics('q')).totals.acknowledged, 4)
  })

  suite.test('a message that is not a job is delivered as one', async (scene) => {
    await scene.queue('q')
    await scene.send('q', 'plain')
    assert.equal((await scene.receiveOne('q')).job, null)
  })

  suite.test('a large payload is kept whole, also when the job has finished', async (scene) => {
    await scene.queue('q')
    const payload = JSON.stringify('large'.repeat(10_000))
    const { id } = await enqueue(scene, { payload })
    assert.equal((await readJob(scene, id)).payload, payload)
    await runOnce(scene, { kind: 'acknowledge' })
    assert.equal((await readJob(scene, id)).payload, payload)
  })

  suite.needing('reopen').test('jobs survive a restart, finished or not', async (scene) => {
    await scene.queue('q')
    const done = await enqueue(scene)
    await runOnce(scene, { kind: 'acknowledge', result: '1' })
    const waiting = await enqueue(scene)
    await scene.reopen()
    assert.equal((await readJob(scene, done.id)).status, 'completed')
    assert.equal((await readJob(scene, waiting.id)).status, 'pending')
  })

  suite.test('progress is reported by the holder of the lease alone', async (scene) => {
    await scene.queue('q', { visibilityMs: 10 * second })
    const { id } = await enqueue(scene)
    const { receipt } = await scene.receiveOne('q')
    const report = { queue: 'q', receipt, progress: 0.5 }
    assert.equal((await jobsOf(scene).reportProgress(report)).status, 'noted')
    assert.equal((await readJob(scene, id)).progress, 0.5)
    await scene.advance(11 * second)
    const late = await jobsOf(scene).reportProgress({ ...report, progress: 0.9 })
    assert.equal(late.status, 'lapsed')
    await scene.receiveOne('q')
    const stale = await jobsOf(scene).reportProgress({ ...report, progress: 0.9 })
    assert.equal(stale.status, 'stale')
    assert.equal((await readJob(scene, id)).progress, 0.5)
    await rejects(jobsOf(scene).reportProgress({ ...report, progress: 2 }), 'invalid_argument')
  })

  suite.test('a job that says nothing more has neither labels nor a backoff', async (scene) => {
    await scene.queue('q')
    await enqueue(scene)
    const { job } = await scene.receiveOne('q')
    assert.deepEqual(job, { ...job, ...noLabels, owner: null, backoff: null })
  })

  suite.test('what is said about a job has limits', async (scene) => {
    await scene.queue('q')
    const backoff = { fromMs: 100, factor: 2, maxMs: 1_000, jitter: 0 }
    for (const changes of [
      ...[{ type: '' }, { type: 'a\0b' }, { owner: '' }, { tier: '' }, { traceId: '\ud800' }],
      ...[{ tags: [''] }, { tags: Array.from({ length: 21 }, () => 'tag') }],
      ...[{ fromMs: -1 }, { fromMs: 2_000 }, { factor: 0.5 }, { factor: 11 }].map((wrong) => ({
        backoff: { ...backoff, ...wrong },
      })),
      ...[{ maxMs: 12 * hour + 1 }, { jitter: 1.5 }, { jitter: Number.NaN }].map((wrong) => ({
        backoff: { ...backoff, ...wrong },
      })),
    ]) {
      await rejects(enqueue(scene, changes), 'invalid_argument')
    }
    assert.equal((await scene.counts('q')).ready, 0)
  })

  suite.test('all jobs of a call are stored, or none', async (scene) => {
    await scene.queue('q')
    const jobs = [ocrJob, { ...ocrJob, payload: '' }]
    await rejects(jobsOf(scene).enqueue({ queue: 'q', jobs }), 'invalid_argument')
    const wrong = [ocrJob, { ...ocrJob, maxAttempts: 0 }]
    await rejects(jobsOf(scene).enqueue({ queue: 'q', jobs: wrong }), 'invalid_argument')
    await rejects(jobsOf(scene).enqueue({ queue: 'nowhere', jobs: [ocrJob] }), 'queue_not_found')
    assert.equal((await scene.counts('q')).ready, 0)
  })
}

function describeAttempts(suite: ContractSuite): void {
  suite.test('a retry leads back to pending and is remembered with its error', async (scene) => {
    await scene.queue('q')
    const { id } = await enqueue(scene)
    await runOnce(scene, { kind: 'retry', delayMs: 5 * second, error: 'timeout' })
    const waiting = await readJob(scene, id)
    assert.deepEqual(
      [waiting.status, waiting.attemptsMade, waiting.error],
      ['pending', 1, 'timeout'],
    )
    await scene.advance(5 * second)
    await runOnce(scene, { kind: 'acknowledge' })
    assert.deepEqual(await attemptOutcomes(scene, id), [
      [1, 'retried', 'timeout'],
      [2, 'completed', null],
    ])
  })

  suite.test('a release costs no attempt', async (scene) => {
    await scene.queue('q')
    const { id } = await enqueue(scene)
    await runOnce(scene, { kind: 'release' })
    const { status, attemptsMade } = await readJob(scene, id)
    assert.deepEqual([status, attemptsMade], ['pending', 0])
    assert.deepEqual(await attemptOutcomes(scene, id), [])
  })

  suite.test('a dead-lettered job has failed, also without a queue for it', async (scene) => {
    const dead = await scene.queueWithDeadLetters('q', 5)
    await scene.queue('alone')
    const { id } = await enqueue(scene)
    await runOnce(scene, { kind: 'deadLetter', reason: 'not a page' })
    const alone = only(await jobsOf(scene).enqueue({ queue: 'alone', jobs: [ocrJob] }))
    const { receipt } = await scene.receiveOne('alone')
    const burial = { kind: 'deadLetter', reason: 'not a page' } as const
    assert.equal((await scene.settle('alone', receipt, burial)).status, 'settled')
    for (const one of [id, alone.id]) {
      const { status, error } = await readJob(scene, one)
      assert.deepEqual([status, error], ['failed', 'not a page'])
    }
    assert.equal((await scene.counts(dead)).ready, 1)
    assert.deepEqual(await scene.counts('alone'), { ready: 0, leased: 0, delayed: 0 })
  })

  suite.test('a delivery says whether the attempt before it was lost', async (scene) => {
    await scene.queue('q', { visibilityMs: 10 * second })
    await enqueue(scene, { maxAttempts: 9 })
    const lost: (boolean | undefined)[] = []
    const retry = { kind: 'retry', delayMs: 0 } as const
    const settle = async (outcome?: Outcome): Promise<void> => {
      const { receipt, job } = await scene.receiveOne('q')
      lost.push(job?.lostBefore)
      if (outcome !== undefined) await scene.settle('q', receipt, outcome)
      await scene.advance(11 * second)
    }
    for (const outcome of [retry, undefined, { kind: 'release' } as const, undefined, retry]) {
      await settle(outcome)
    }
    await settle()
    assert.deepEqual(lost, [false, false, true, true, true, false])
  })

  suite.test('a job whose last attempt is lost fails on the next receive', async (scene) => {
    const dead = await scene.queueWithDeadLetters('q', 100, { visibilityMs: 10 * second })
    const { id } = await enqueue(scene)
    await scene.receiveOne('q')
    await scene.advance(11 * second)
    await scene.receiveOne('q')
    await scene.advance(11 * second)
    assert.deepEqual(await scene.receive('q'), [])
    const { status, attemptsMade } = await readJob(scene, id)
    assert.deepEqual([status, attemptsMade], ['failed', 2])
    const [first] = await attemptOutcomes(scene, id)
    assert.deepEqual(first, [1, 'lapsed', 'The lease ended before the attempt was settled.'])
    assert.equal((await scene.counts(dead)).ready, 1)
  })

  suite.test('a job whose last attempt is lost fails without a receive', async (scene) => {
    await scene.queue('q', { visibilityMs: 10 * second })
    const { id } = await enqueue(scene, { maxAttempts: 1 })
    await scene.receiveOne('q')
    await scene.advance(11 * second)
    await scene.sweep()
    assert.equal((await readJob(scene, id)).status, 'failed')
    assert.deepEqual(await scene.counts('q'), { ready: 0, leased: 0, delayed: 0 })
  })

  suite.test('its own attempts count, not those of the queue', async (scene) => {
    await scene.queueWithDeadLetters('q', 1)
    await enqueue(scene, { maxAttempts: 3 })
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      await runOnce(scene, { kind: 'retry', delayMs: 0 })
    }
    assert.deepEqual(await scene.receive('q'), [])
  })

  suite.test('a stale holder changes neither message nor job', async (scene) => {
    await scene.queue('q', { visibilityMs: 10 * second })
    const { id } = await enqueue(scene)
    const { receipt } = await scene.receiveOne('q')
    await scene.advance(11 * second)
    await scene.receiveOne('q')
    for (const outcome of [
      { kind: 'acknowledge', result: '1' },
      { kind: 'deadLetter', reason: 'late' },
      { kind: 'retry', delayMs: 0 },
    ] as const) {
      assert.equal((await scene.settle('q', receipt, outcome)).status, 'stale')
    }
    assert.equal((await readJob(scene, id)).status, 'processing')
  })
}

function describeControl(suite: ContractSuite): void {
  suite.test('a waiting job that is cancelled never runs', async (scene) => {
    await scene.queue('q')
    const { id } = await enqueue(scene)
    assert.equal((await jobsOf(scene).cancel({ id })).status, 'cancelled')
    assert.deepEqual(await scene.receive('q'), [])
    assert.deepEqual(await scene.counts('q'), { ready: 0, leased: 0, delayed: 0 })
    await rejects(jobsOf(scene).cancel({ id }), 'job_finished')
  })

  suite.test('a running job that is cancelled is gone for its holder', async (scene) => {
    await scene.queue('q')
    const { id } = await enqueue(scene)
    const { receipt } = await scene.receiveOne('q')
    await jobsOf(scene).cancel({ id })
    assert.equal((await scene.extend('q', receipt, minute)).status, 'gone')
    assert.equal((await scene.acknowledge('q', receipt)).status, 'gone')
    assert.equal((await readJob(scene, id)).status, 'cancelled')
  })

  suite.test('a failed job is tried again as a new one', async (scene) => {
    await scene.queue('q')
    const backoff = { fromMs: 1, factor: 1, maxMs: 1, jitter: 0 }
    const { id } = await enqueue(scene, { owner: 'ann', tenant: 'g', ...labels, backoff })
    await rejects(jobsOf(scene).retry({ id }), 'job_not_finished')
    await runOnce(scene, { kind: 'deadLetter', reason: 'broken' })
    const again = await jobsOf(scene).retry({ id })
    const failed = await readJob(scene, id)
    assert.equal(failed.status, 'failed')
    const { createdAt, updatedAt } = await readJob(scene, again.id)
    assert.deepEqual(await readJob(scene, again.id), {
      ...failed,
      ...{ id: again.id, backendId: again.id, retryOf: id, status: 'pending' },
      ...{ attemptsMade: 0, error: null, startedAt: null, finishedAt: null, createdAt, updatedAt },
    })
  })

  suite.test('a redriven dead letter is a new job', async (scene) => {
    const dead = await scene.queueWithDeadLetters('q', 5)
    const { id } = await enqueue(scene)
    await runOnce(scene, { kind: 'deadLetter', reason: 'broken' })
    await scene.backend.startMoveTask({ source: dead })
    await scene.sweep()
    const delivery = await scene.receiveOne('q')
    assert.ok(delivery.job !== null && delivery.job.id !== id)
    assert.equal((await readJob(scene, delivery.job.id)).retryOf, id)
  })

  suite.test('purging a queue cancels its jobs, and expiry fails them', async (scene) => {
    await scene.queue('q')
    const purged = await enqueue(scene)
    await scene.backend.purgeQueue({ queue: 'q' })
    assert.equal((await readJob(scene, purged.id)).status, 'cancelled')
    await scene.sweep()
    assert.equal((await readJob(scene, purged.id)).status, 'cancelled')
    const expired = await enqueue(scene, { expiresAfterMs: minute })
    await scene.advance(2 * minute)
    await scene.sweep()
    assert.equal((await readJob(scene, expired.id)).status, 'failed')
  })

  suite.test('a job that never was is not found', async (scene) => {
    await scene.queue('q')
    const [id = ''] = await scene.send('q', 'no job')
    for (const unknown of [id, 'garbage', '']) {
      assert.equal(await jobsOf(scene).read({ id: unknown }), undefined)
      assert.deepEqual(await jobsOf(scene).attempts({ id: unknown }), [])
      await rejects(jobsOf(scene).cancel({ id: unknown }), 'job_not_found')
      await rejects(jobsOf(scene).retry({ id: unknown }), 'job_not_found')
    }
  })
}

function describeListing(suite: ContractSuite): void {
  suite.test('jobs are listed newest first, in pages, whatever their state', async (scene) => {
    await scene.queue('q')
    const ids: string[] = []
    for (let index = 0; index < 9; index += 1) ids.push((await enqueue(scene)).id)
    await runOnce(scene, { kind: 'acknowledge' })
    await runOnce(scene, { kind: 'deadLetter', reason: 'broken' })
    await scene.receiveOne('q')
    const listed: JobRecord[] = []
    let after: string | undefined
    do {
      const page = await jobsOf(scene).list({ queue: 'q', limit: 4, ...(after && { after }) })
      listed.push(...page.items)
      after = page.next
    } while (after !== undefined)
    assert.deepEqual(
      listed.map(({ id }) => id),
      ids.toReversed(),
    )
    assert.deepEqual(
      listed.slice(-3).map(({ status }) => status),
      ['processing', 'failed', 'completed'],
    )
  })

  suite.test('lists are filtered by status, type and owner', async (scene) => {
    await scene.queue('q')
    await enqueue(scene, { owner: 'ann' })
    await enqueue(scene, { type: 'OMR', owner: 'ann' })
    await enqueue(scene, { owner: 'bob' })
    await runOnce(scene, { kind: 'acknowledge' })
    const count = async (filter: object): Promise<number> =>
      (await jobsOf(scene).list({ queue: 'q', limit: 10, ...filter })).items.length
    assert.equal(await count({ owner: 'ann' }), 2)
    assert.equal(await count({ owner: 'ann', type: 'OMR' }), 1)
    assert.equal(await count({ status: 'completed' }), 1)
    assert.equal(await count({ status: 'pending', owner: 'bob' }), 1)
    assert.equal(await count({ status: 'failed' }), 0)
    await rejects(jobsOf(scene).list({ queue: 'nowhere', limit: 1 }), 'queue_not_found')
    await rejects(jobsOf(scene).list({ queue: 'q', limit: 1, after: 'x' }), 'invalid_argument')
  })
}
