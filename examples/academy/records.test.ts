import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'vitest'
import { openRecords, type Records } from './records.ts'

const job = { jobId: 'video-123', jobType: 'VIDEO' }
const first = { messageId: 'm-1', token: 1 }
/** The same message under its next lease. */
const again = { messageId: 'm-1', token: 2 }
const duplicate = { messageId: 'm-2', token: 3 }

let records: Records
let now = 0

beforeEach(() => {
  now = 1_000_000
  records = openRecords({ file: ':memory:', attemptMsMax: 240_000, now: () => now })
})
afterEach(() => records[Symbol.dispose]())

const status = (): string | undefined => records.get(job.jobId)?.status

describe('a job row', () => {
  test('is pending until a worker begins it, even if it was added twice', () => {
    records.add(job)
    records.add(job)
    assert.deepEqual(records.list(), [
      { ...job, status: 'PENDING', attempts: 0, result: null, error: null },
    ])
    assert.ok(records.begin(job, first))
    assert.equal(status(), 'PROCESSING')
  })

  test('is created by the worker if it is missing', () => {
    assert.ok(records.begin(job, first))
    assert.equal(records.get(job.jobId)?.attempts, 1)
  })

  test('is not begun again after it is completed, by any message', () => {
    records.begin(job, first)
    assert.ok(records.complete(job.jobId, first, { pages: 3 }))
    now += 10_000_000
    assert.equal(records.begin(job, again), false)
    assert.equal(records.begin(job, duplicate), false)
    assert.deepEqual(records.get(job.jobId)?.result, { pages: 3 })
  })

  test('cannot be begun by another message while it is in progress', () => {
    records.begin(job, first)
    now += 240_000
    assert.equal(records.begin(job, duplicate), false)
    assert.ok(records.complete(job.jobId, first, null))
  })

  test('is taken over at once by a redelivery of its own message', () => {
    records.begin(job, first)
    assert.ok(records.begin(job, again))
    assert.equal(records.get(job.jobId)?.attempts, 2)
  })

  test('is taken over by another message when its attempt must have timed out', () => {
    records.begin(job, first)
    now += 240_001
    assert.ok(records.begin(job, duplicate))
  })

  test('is not changed by a worker whose lease has ended', () => {
    records.begin(job, first)
    records.begin(job, again)
    assert.equal(records.complete(job.jobId, first, 'late'), false)
    assert.equal(
      records.recordFailure(job.jobId, first, { status: 'FAILED', error: 'late' }),
      false,
    )
    assert.equal(records.begin(job, first), false)
    assert.equal(status(), 'PROCESSING')
  })

  test('is begun again after a failure, and its error is cleared on success', () => {
    records.begin(job, first)
    assert.ok(records.recordFailure(job.jobId, first, { status: 'FAILED', error: 'no picture' }))
    assert.equal(records.get(job.jobId)?.error, 'no picture')
    assert.ok(records.begin(job, duplicate))
    assert.ok(records.complete(job.jobId, duplicate, 'done'))
    assert.deepEqual(records.get(job.jobId), {
      ...job,
      status: 'COMPLETED',
      attempts: 2,
      result: 'done',
      error: null,
    })
  })
})
