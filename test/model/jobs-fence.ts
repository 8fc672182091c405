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
    const fifo = queue.endsWith('.fifo') ? { tenant: 'g', deduplicationId: 'd' } : {}
    const job = { type: 'OCR', payload: '1', maxAttempts: 5, ...fifo }
    const [{ id } = assert.fail()] = await jobs.enqueue({ queue, jobs: [job] })
    const [stale] = await backend().receive({ queue, max: 1 })
    await clock.advance(leaseMs + 1)
    await backend().receive({ queue, max: 1 })
    const receipt = stale?.receipt ?? ''
    const outcomes: readonly Outcome[] = [
      { kind: 'acknowledge', result: '2' },
      { kind: 'deadLetter', reason: 'late' },
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
  await assertTogetherAreFenced({ backend, clock })
}

/** Two that were claimed together, and whose leases have gone to another receiver, are completed in one call. */
async function assertTogetherAreFenced({
  backend,
  clock,
}: Pick<Engine, 'backend' | 'clock'>): Promise<void> {
  const { jobs } = backend()
  const queue = 'together'
  await backend().createQueue({ queue, settings: { visibilityMs: leaseMs } })
  const job = { type: 'OCR', payload: '1', maxAttempts: 5 }
  const enqueued = await jobs?.enqueue({ queue, jobs: [job, job, job] })
  const outcome: Outcome = { kind: 'acknowledge' }
  const complete = async (receipts: readonly string[]): Promise<readonly string[]> => {
    const settlements = receipts.map((receipt) => ({ receipt, outcome }))
    return (await backend().settle({ queue, settlements })).map(({ status }) => status)
  }
  const receipts = async (max: number): Promise<readonly string[]> =>
    (await backend().receive({ queue, max })).map(({ receipt }) => receipt)
  assert.deepEqual(await complete(await receipts(1)), ['settled'])
  const stale = await receipts(2)
  await clock.advance(leaseMs + 1)
  const live = await receipts(2)
  assert.deepEqual(await complete(stale), ['stale', 'stale'])
  for (const { id } of enqueued?.slice(1) ?? []) {
    assert.equal((await jobs?.read({ id }))?.status, 'processing')
  }
  assert.deepEqual(await complete(live), ['settled', 'settled'])
}
