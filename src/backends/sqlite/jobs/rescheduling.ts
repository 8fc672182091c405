/** Changes when a job that waits becomes due. A job that is being run is left to the holder of its lease. */

import { checkRange, type Violations } from '../../../core/checks.ts'
import { isFinished } from '../../../core/job-state.ts'
import { limits } from '../../../core/limits.ts'
import { MillraceError } from '../../../core/millrace-error.ts'
import type { JobRecord, RescheduleJob } from '../../job-store.ts'
import { change, query } from '../driver/statements.ts'
import type { StoreTransaction } from '../driver/transaction.ts'
import { isRunning } from '../messages/expiry.ts'
import { groupChanged } from '../messages/groups.ts'
import { countNameOf, delayed, leased, ready, unleasedToken } from '../messages/message-rows.ts'
import { leaseEnded } from '../messages/tenants.ts'
import type { Queue } from '../queues/queue-cache.ts'
import { decodeDetails } from './job-details.ts'
import { endDueJob } from './job-elapsed-time.ts'
import { requireJob } from './job-reading.ts'

const sql = {
  find: query<WaitingJob>(`
    SELECT sequence, state, token, group_name, job FROM message
    WHERE sequence = ? AND generation = ? AND job_type IS NOT NULL`),
  // The statement that changes the row also checks that the job is not leased.
  move: change(`
    UPDATE message SET
      state = ?, due_at = ?, delayed_until = ?, expires_at = ?, held_until = NULL, bucket = NULL
    WHERE sequence = ? AND generation = ? AND job_type IS NOT NULL
      AND (state <> ${leased} OR token = ${unleasedToken})`),
}

interface WaitingJob {
  readonly sequence: number
  readonly state: number
  readonly token: number
  readonly group_name: string | null
  readonly job: string
}

export function rescheduleJob(tx: StoreTransaction, request: RescheduleJob): JobRecord {
  const { queue, row } = requireWaiting(tx, request.id)
  const dueAt = dueAtOf(tx, queue, request)
  if (dueAt <= tx.now) makeDue(tx, queue, row)
  else moveTo(tx, queue, row, { state: delayed, dueAt })
  return requireJob(tx, request.id)
}

export function promoteJob(tx: StoreTransaction, id: string): JobRecord {
  const { queue, row } = requireWaiting(tx, id)
  makeDue(tx, queue, row)
  return requireJob(tx, id)
}

/** The message of a job that waits. */
function requireWaiting(tx: StoreTransaction, id: string): { queue: Queue; row: WaitingJob } {
  // Its lease may have lapsed a moment ago, or its time may be over.
  endDueJob(tx, id)
  const job = requireJob(tx, id)
  if (isFinished(job.status)) throw new MillraceError('job_finished')
  const queue = tx.queue(job.queue)
  const row = tx.one(sql.find, tx.session.messageIds.sequenceOf(id) ?? 0, queue.generation)
  if (row === undefined || isRunning(row)) throw new MillraceError('job_running')
  return { queue, row }
}

function dueAtOf(
  { now }: StoreTransaction,
  { settings }: Queue,
  { runAt, delayMs = 0 }: RescheduleJob,
): number {
  const violations: Violations = []
  if (settings.type === 'fifo') {
    const field = runAt === undefined ? 'delayMs' : 'runAt'
    const allowed = 'none on a FIFO queue, whose delay is a setting of the queue'
    violations.push({ field, given: String(runAt ?? delayMs), allowed })
  } else if (runAt !== undefined) {
    const max = now + limits.messageDelayMs.max
    checkRange(violations, 'runAt', runAt, { min: 0, max, unit: 'ms' })
  }
  if (violations.length > 0) throw MillraceError.invalid(violations)
  return runAt ?? now + delayMs
}

/** A job that is ready, or that a switch or a ceiling keeps from running, is due already. */
function makeDue(tx: StoreTransaction, queue: Queue, row: WaitingJob): void {
  if (row.state !== delayed && row.state !== leased) return
  moveTo(tx, queue, row, { state: ready, dueAt: tx.now })
  tx.gainedReady(queue)
}

interface Move {
  readonly state: typeof ready | typeof delayed
  readonly dueAt: number
}

function moveTo(tx: StoreTransaction, queue: Queue, row: WaitingJob, { state, dueAt }: Move): void {
  const { sequence, group_name } = row
  const { expires } = decodeDetails(row.job)
  const expiresAt = expires === undefined ? null : dueAt + expires
  const values = [state, dueAt, dueAt, expiresAt, sequence, queue.generation] as const
  if (!tx.changed(sql.move, ...values)) throw new MillraceError('job_running')
  tx.count(queue, countNameOf(row.state), -1)
  tx.count(queue, countNameOf(state), 1)
  if (row.state === leased) leaseEnded(tx, queue, group_name, state === ready ? tx.now : undefined)
  else if (queue.settings.type === 'fifo' && group_name !== null) {
    groupChanged(tx, queue.generation, group_name)
  }
}
