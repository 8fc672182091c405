/** Jobs are not part of the reference model; this is what a missing fence would break in them. */
import assert from 'node:assert/strict'
import type { Outcome } from '../../src/backends/backend.ts'
import type { Engine } from './engine-run.ts'

const leaseMs = 10_000

/** A holder whose lease has gone to somebody else tries everything, on both types of queues. */
export async function assertJobsAreFenced({ backend, clock }: Engine): Promise<void> {
  const { jobs } = backend()
  assert.ok(jobs !== null)
  for (const queue of ['jobs', 'jobs.fifo']) {
    await backend().createQueue({ queue, settings: { visibilityMs: leaseMs } })
    const fifo = queue.endsWith('.fifo') ? { group: 'g', deduplicationId: 'd' } : {}
    const job = { type: 'OCR', payload: '1', maxAttempts: 5, ...fifo }
    const [{ id } = assert.fail()] = await jobs.enqueue({ queue, jobs: [job] })
    const [stale] = await backend().receive({ queue, max: 1 })
    await clock.advance(leaseMs + 1)
    await backend().receive({ queue, max: 1 })
    const receipt = stale?.receipt ?? ''
    const outcomes: readonly Outcome[] = [
      { kind: 'acknowledge', result: '2' },
      { kind: 'bury', reason: 'late' },
    ]
    for (const outcome of outcomes) {
      const results = await backend().settle({ queue, settlements: [{ receipt, outcome }] })
      assert.deepEqual(results, [{ status: 'stale' }])
    }
    const reported = await jobs.reportProgress({ queue, receipt, progress: 0.9 })
    assert.deepEqual(reported, { status: 'stale' })
    const record = await jobs.read({ id })
    assert.deepEqual([record?.status, record?.progress], ['processing', 0])
  }
}
