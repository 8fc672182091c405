import assert from 'node:assert/strict'
import { AbortReason } from 'millrace'
import { afterEach, beforeEach, describe, test } from 'vitest'
import { openRecords, type Records } from './records.ts'
import { type Attempt, withRecord } from './with-record.ts'

const job = { jobId: 'video-123', jobType: 'VIDEO' }

let records: Records
let printed: string[]

beforeEach(() => {
  records = openRecords({ file: ':memory:', attemptMsMax: 240_000, now: Date.now })
  printed = []
})
afterEach(() => records[Symbol.dispose]())

function attempt(number: number, signal: AbortSignal = new AbortController().signal): Attempt {
  return { id: 'm-1', token: number, attempt: number, maxAttempts: 3, signal }
}

function work(context: Attempt, run: () => Promise<unknown>): Promise<unknown> {
  return withRecord({
    records,
    job,
    context,
    print: (line) => printed.push(line),
    run,
    describe: String,
  })
}

const fail = (): Promise<never> => Promise.reject(new Error('no picture'))

describe('work with a job row', () => {
  test('runs once: a redelivery returns the result of the first run', async () => {
    let runs = 0
    const run = async (): Promise<object> => ({ run: ++runs })
    assert.deepEqual(await work(attempt(1), run), { run: 1 })
    assert.deepEqual(await work(attempt(2), run), { run: 1 })
    assert.equal(runs, 1)
    assert.equal(printed.at(-1), 'VIDEO video-123 skipped: it is already COMPLETED')
  })

  test('returns to PENDING if it fails, and is FAILED after its last attempt', async () => {
    const states: unknown[] = []
    for (const number of [1, 2, 3]) {
      await assert.rejects(work(attempt(number), fail), /no picture/)
      const record = records.get(job.jobId)
      states.push([record?.status, record?.error])
    }
    assert.deepEqual(states, [
      ['PENDING', 'no picture'],
      ['PENDING', 'no picture'],
      ['FAILED', 'no picture'],
    ])
  })

  test('returns to PENDING if the worker stops, even in its last attempt', async () => {
    const signal = AbortSignal.abort(new AbortReason('shutdown'))
    await assert.rejects(work(attempt(3, signal), async () => signal.throwIfAborted()))
    assert.equal(records.get(job.jobId)?.status, 'PENDING')
  })

  test('is FAILED if it was cancelled', async () => {
    const signal = AbortSignal.abort(new AbortReason('cancelled'))
    await assert.rejects(work(attempt(1, signal), async () => signal.throwIfAborted()))
    assert.equal(records.get(job.jobId)?.status, 'FAILED')
  })

  test('changes nothing if another worker has taken over the job', async () => {
    const late = work(attempt(1), async () => {
      await work(attempt(2), async () => 'theirs')
      return 'mine'
    })
    await assert.rejects(late, /taken over the job/)
    assert.equal(records.get(job.jobId)?.result, 'theirs')
  })
})
