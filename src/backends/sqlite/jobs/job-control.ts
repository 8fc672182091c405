/** Cancels and repeats jobs, and notes their progress. */

import { givenLabels } from '../../../core/job-labels.ts'
import { canBecome } from '../../../core/job-state.ts'
import { MillraceError } from '../../../core/millrace-error.ts'
import type {
  EnqueuedJob,
  JobRecord,
  NewJob,
  ProgressResult,
  ReportProgress,
  RetryJob,
} from '../../job-store.ts'
import { refuseSpendings, spendOn } from '../budgets/budgets.ts'
import { workOf } from '../budgets/spending.ts'
import { change, query } from '../driver/statements.ts'
import type { StoreTransaction } from '../driver/transaction.ts'
import { endUnit, unitHasWorkAgain } from '../flows/flow-ends.ts'
import { done, unitByNumber } from '../flows/flow-units.ts'
import { findRow, receiptFor, refusalOf } from '../messages/leases.ts'
import { messageRemoved, type RemovedRow } from '../messages/removing.ts'
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
    WHERE sequence = ? AND generation = ? AND token = ? AND state = 1 AND due_at > ?
      AND job_type IS NOT NULL
    ON CONFLICT DO UPDATE SET progress = excluded.progress, changed_at = excluded.changed_at`),
}

export function cancelJob(tx: StoreTransaction, id: string): JobRecord {
  // The job may have ended a moment ago, and that end counts.
  endDueJob(tx, id)
  const job = requireJob(tx, id)
  if (!canBecome(job.status, 'cancelled')) throw new MillraceError('job_finished')
  const queue = tx.queue(job.queue)
  const number = tx.session.messageIds.sequenceOf(id) ?? 0
  finishJob(tx, number, { queue: queue.name, status: 'cancelled' })
  const removed = tx.one(sql.removeLive, number, queue.generation)
  if (removed !== undefined) {
    messageRemoved(tx, queue, removed)
    const { unit } = removed
    const reason = 'Its job was cancelled.'
    if (unit !== null) endUnit(tx, { unit, state: 'dead', reason, message: number })
  }
  return requireJob(tx, id)
}

interface CancelledRow extends RemovedRow {
  readonly unit: number | null
}

export function retryJob(tx: StoreTransaction, request: RetryJob): EnqueuedJob {
  const { id, systemAttributes } = request
  endDueJob(tx, id)
  const job = requireJob(tx, id)
  if (job.status !== 'failed' && job.status !== 'cancelled') {
    throw new MillraceError('job_not_finished')
  }
  const queue = tx.queue(job.queue)
  const again: NewJob = {
    type: job.type,
    payload: job.payload,
    maxAttempts: job.maxAttempts,
    ...(job.owner !== null && { owner: job.owner }),
    ...(job.tenant !== null && { tenant: job.tenant }),
    ...(queue.settings.type === 'fifo' && { deduplicationId: tx.session.ids.next() }),
    ...givenLabels(job),
    ...(job.backoff !== null && { backoff: job.backoff }),
    ...expiryAgain(tx, id),
    ...(systemAttributes !== undefined && { systemAttributes }),
  }
  const unit = unitToWorkOn(tx, id)
  const { status, id: newId, sequence } = storeJob(tx, queue, again, { retryOf: id, unit })
  if (unit !== undefined) unitHasWorkAgain(tx, unit, sequence)
  return { status, id: newId }
}

/** The limit to wait that a finished job had. */
function expiryAgain(tx: StoreTransaction, id: string): Pick<NewJob, 'expiresAfterMs'> {
  const number = tx.session.messageIds.sequenceOf(id) ?? 0
  const { details } = tx.one(sql.finished, number) ?? {}
  const expiresAfterMs = details === undefined ? undefined : decodeDetails(details).expires
  return expiresAfterMs === undefined ? {} : { expiresAfterMs }
}

/** The unit that a job worked on, if that is not done. */
function unitToWorkOn(tx: StoreTransaction, id: string): number | undefined {
  const number = tx.session.messageIds.sequenceOf(id) ?? 0
  const { unit } = tx.one(sql.finished, number) ?? {}
  const row = unit === null || unit === undefined ? undefined : unitByNumber(tx, unit)
  return row === undefined || row.state === done ? undefined : row.number
}

export function reportProgress(tx: StoreTransaction, request: ReportProgress): ProgressResult {
  const queue = tx.queue(request.queue)
  const receipt = receiptFor(queue, request.receipt)
  if (receipt === undefined) {
    return { status: 'refused', error: new MillraceError('receipt_invalid') }
  }
  const { sequence, token } = receipt
  const { spent } = request
  const error = spent && refuseSpendings(tx, spent)
  if (error !== undefined) return { status: 'refused', error }
  const values = [request.progress, tx.now, sequence, queue.generation, token, tx.now] as const
  if (!tx.changed(sql.noteProgress, ...values)) {
    return { status: refusalOf(tx, queue, receipt) }
  }
  const row = request.logs && findRow(tx, queue, receipt)
  if (request.logs && row) storeLogs(tx, row, request.logs)
  if (spent) spendOn(tx, spent, workOf(tx, sequence))
  tx.wroteRow(queue)
  return { status: 'noted' }
}
