/** Cancels and repeats jobs, and notes their progress. */

import type {
  EnqueuedJob,
  JobRecord,
  NewJob,
  ProgressResult,
  ReportProgress,
  RetryJob,
} from '../../backends/job-store.ts'
import { givenLabels } from '../../core/job-labels.ts'
import { canBecome } from '../../core/job-state.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import { refuseSpendings, spendOn } from '../budgets/budgets.ts'
import { workOf } from '../budgets/spending.ts'
import { endUnit, unitHasWorkAgain } from '../flows/flow-ends.ts'
import { done, unitByNumber } from '../flows/flow-units.ts'
import { findRow, receiptFor, refusalOf } from '../messages/leases.ts'
import { messageRemoved, type RemovedRow } from '../messages/removing.ts'
import { byKey, change, query } from '../statements.ts'
import type { Steps } from '../steps.ts'
import type { Transaction } from '../transaction.ts'
import { storeLogs } from './attempt-details.ts'
import { storeJob } from './enqueueing.ts'
import { decodeDetails } from './job-details.ts'
import { endDueJob } from './job-elapsed-time.ts'
import { finishJob } from './job-history.ts'
import { requireJob } from './job-reading.ts'

const sql = {
  removeLive: query<CancelledRow>(`
    DELETE FROM message WHERE sequence = ? AND generation = ? AND job_type IS NOT NULL
    RETURNING sequence, state, group_name, body IS NULL AS apart, unit`),
  finished: query<{ unit: number | null; details: string }>(
    'SELECT unit, details FROM finished_job WHERE number = ?',
  ),
  noteProgress: change(`
    INSERT INTO job_progress (number, progress, changed_at)
    SELECT sequence, ?, ? FROM message
    WHERE sequence = ? AND generation = ? AND token = ? AND state${byKey} = 1 AND due_at > ?
      AND job_type IS NOT NULL
    ON CONFLICT (number) DO UPDATE SET progress = excluded.progress, changed_at = excluded.changed_at`),
}

export function* cancelJob(tx: Transaction, id: string): Steps<JobRecord> {
  // The job may have ended a moment ago, and that end counts.
  yield* endDueJob(tx, id)
  const job = yield* requireJob(tx, id)
  if (!canBecome(job.status, 'cancelled')) throw new MillraceError('job_finished')
  const queue = yield* tx.queue(job.queue)
  const number = tx.messageIds.sequenceOf(id) ?? 0
  yield* finishJob(tx, number, { queue: queue.name, status: 'cancelled' })
  const removed = yield* tx.one(sql.removeLive, number, queue.generation)
  if (removed !== undefined) {
    yield* messageRemoved(tx, queue, removed)
    const { unit } = removed
    const reason = 'Its job was cancelled.'
    if (unit !== null) yield* endUnit(tx, { unit, state: 'dead', reason, message: number })
  }
  return yield* requireJob(tx, id)
}

interface CancelledRow extends RemovedRow {
  readonly unit: number | null
}

export function* retryJob(tx: Transaction, request: RetryJob): Steps<EnqueuedJob> {
  const { id, systemAttributes } = request
  yield* endDueJob(tx, id)
  const job = yield* requireJob(tx, id)
  if (job.status !== 'failed' && job.status !== 'cancelled') {
    throw new MillraceError('job_not_finished')
  }
  const queue = yield* tx.queue(job.queue)
  const again: NewJob = {
    type: job.type,
    payload: job.payload,
    maxAttempts: job.maxAttempts,
    ...(job.owner !== null && { owner: job.owner }),
    ...(job.tenant !== null && { tenant: job.tenant }),
    ...(queue.settings.type === 'fifo' && { deduplicationId: tx.ids.next() }),
    ...givenLabels(job),
    ...(job.backoff !== null && { backoff: job.backoff }),
    ...(yield* expiryAgain(tx, id)),
    ...(systemAttributes !== undefined && { systemAttributes }),
  }
  const unit = yield* unitToWorkOn(tx, id)
  const { status, id: newId, sequence } = yield* storeJob(tx, queue, again, { retryOf: id, unit })
  if (unit !== undefined) yield* unitHasWorkAgain(tx, unit, sequence)
  return { status, id: newId }
}

/** The limit to wait that a finished job had. */
function* expiryAgain(tx: Transaction, id: string): Steps<Pick<NewJob, 'expiresAfterMs'>> {
  const number = tx.messageIds.sequenceOf(id) ?? 0
  const { details } = (yield* tx.one(sql.finished, number)) ?? {}
  const expiresAfterMs = details === undefined ? undefined : decodeDetails(details).expires
  return expiresAfterMs === undefined ? {} : { expiresAfterMs }
}

/** The unit that a job worked on, if that is not done. */
function* unitToWorkOn(tx: Transaction, id: string): Steps<number | undefined> {
  const number = tx.messageIds.sequenceOf(id) ?? 0
  const { unit } = (yield* tx.one(sql.finished, number)) ?? {}
  const row = unit === null || unit === undefined ? undefined : yield* unitByNumber(tx, unit)
  return row === undefined || row.state === done ? undefined : row.number
}

export function* reportProgress(tx: Transaction, request: ReportProgress): Steps<ProgressResult> {
  const queue = yield* tx.queue(request.queue)
  const receipt = receiptFor(tx, queue, request.receipt)
  if (receipt === undefined) {
    return { status: 'refused', error: new MillraceError('receipt_invalid') }
  }
  const { sequence, token } = receipt
  const { spent } = request
  const error = spent && (yield* refuseSpendings(tx, spent))
  if (error !== undefined) return { status: 'refused', error }
  const values = [request.progress, tx.now, sequence, queue.generation, token, tx.now] as const
  if (!(yield* tx.changed(sql.noteProgress, ...values))) {
    return { status: yield* refusalOf(tx, queue, receipt) }
  }
  const row = request.logs && (yield* findRow(tx, queue, receipt))
  if (request.logs && row) yield* storeLogs(tx, row, request.logs)
  if (spent) yield* spendOn(tx, spent, yield* workOf(tx, sequence))
  tx.wroteRow(queue)
  return { status: 'noted' }
}
