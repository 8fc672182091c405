import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'vitest'
import { openRecords, type Records } from './records.ts'

const job = { jobId: 'video-123', jobType: 'VIDEO' }
const first = { messageId: 'm-1', token: 1 }
/** The same message once more, under its next lease. */
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
  test('is pending until a worker begins it, also when it was added twice', () => {
    records.add(job)
    records.add(job)
    assert.deepEqual(records.list(), [
      { ...job, status: 'PENDING', attempts: 0, result: null, error: null },
    ])
    assert.ok(records.begin(job, first))
    assert.equal(status(), 'PROCESSING')
  })

  test('is made by the worker when nobody has added it', () => {
    assert.ok(records.begin(job, first))
    assert.equal(records.get(job.jobId)?.attempts, 1)
  })

  test('is not begun again once it is completed, by whatever message', () => {
    records.begin(job, first)
    assert.ok(records.complete(job.jobId, first, { pages: 3 }))
    now += 10_000_000
    assert.equal(records.begin(job, again), false)
    assert.equal(records.begin(job, duplicate), false)
    assert.deepEqual(records.get(job.jobId)?.result, { pages: 3 })
  })

  test('is left alone by another message while it is being worked on', () => {
    records.begin(job, first)
    now += 240_000
    assert.equal(records.begin(job, duplicate), false)
    assert.ok(records.complete(job.jobId, first, null))
  })

  test('is taken over by the redelivery of its own message, at once', () => {
    records.begin(job, first)
    assert.ok(records.begin(job, again))
    assert.equal(records.get(job.jobId)?.attempts, 2)
  })

  test('is taken over by another message when no attempt can be running any more', () => {
    records.begin(job, first)
    now += 240_001
    assert.ok(records.begin(job, duplicate))
  })

  test('is not changed by a worker that was overtaken', () => {
    records.begin(job, first)
    records.begin(job, again)
    assert.equal(records.complete(job.jobId, first, 'late'), false)
    assert.equal(records.giveUp(job.jobId, first, { status: 'FAILED', error: 'late' }), false)
    assert.equal(records.begin(job, first), false)
    assert.equal(status(), 'PROCESSING')
  })

  test('is begun again after a failure, and forgets the error when it succeeds', () => {
    records.begin(job, first)
    assert.ok(records.giveUp(job.jobId, first, { status: 'FAILED', error: 'no picture' }))
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
