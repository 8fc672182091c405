/** Changes when a job that waits becomes due. A job that is being run is left to the holder of its lease. */

import type { JobRecord, RescheduleJob } from '../../backends/job-store.ts'
import { checkRange, type Violations } from '../../core/checks.ts'
import { isFinished } from '../../core/job-state.ts'
import { limits } from '../../core/limits.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import { isRunning } from '../messages/expiry.ts'
import { groupChanged } from '../messages/groups.ts'
import { countNameOf, delayed, leased, ready, unleasedToken } from '../messages/message-rows.ts'
import { leaseEnded } from '../messages/tenants.ts'
import type { Queue } from '../queues/queue.ts'
import { change, query } from '../statements.ts'
import type { Steps } from '../steps.ts'
import type { Transaction } from '../transaction.ts'
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

export function* rescheduleJob(tx: Transaction, request: RescheduleJob): Steps<JobRecord> {
  const { queue, row } = yield* requireWaiting(tx, request.id)
  const dueAt = dueAtOf(tx, queue, request)
  if (dueAt <= tx.now) yield* makeDue(tx, queue, row)
  else yield* moveTo(tx, queue, row, { state: delayed, dueAt })
  return yield* requireJob(tx, request.id)
}

export function* promoteJob(tx: Transaction, id: string): Steps<JobRecord> {
  const { queue, row } = yield* requireWaiting(tx, id)
  yield* makeDue(tx, queue, row)
  return yield* requireJob(tx, id)
}

/** The message of a job that waits. */
function* requireWaiting(tx: Transaction, id: string): Steps<{ queue: Queue; row: WaitingJob }> {
  // Its lease may have lapsed a moment ago, or its time may be over.
  yield* endDueJob(tx, id)
  const job = yield* requireJob(tx, id)
  if (isFinished(job.status)) throw new MillraceError('job_finished')
  const queue = yield* tx.queue(job.queue)
  const row = yield* tx.one(sql.find, tx.messageIds.sequenceOf(id) ?? 0, queue.generation)
  if (row === undefined || isRunning(row)) throw new MillraceError('job_running')
  return { queue, row }
}

function dueAtOf(
  { now }: Transaction,
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
function* makeDue(tx: Transaction, queue: Queue, row: WaitingJob): Steps<void> {
  if (row.state !== delayed && row.state !== leased) return
  yield* moveTo(tx, queue, row, { state: ready, dueAt: tx.now })
  tx.gainedReady(queue)
}

interface Move {
  readonly state: typeof ready | typeof delayed
  readonly dueAt: number
}

function* moveTo(
  tx: Transaction,
  queue: Queue,
  row: WaitingJob,
  { state, dueAt }: Move,
): Steps<void> {
  const { sequence, group_name } = row
  const { expires } = decodeDetails(row.job)
  const expiresAt = expires === undefined ? null : dueAt + expires
  const values = [state, dueAt, dueAt, expiresAt, sequence, queue.generation] as const
  if (!(yield* tx.changed(sql.move, ...values))) throw new MillraceError('job_running')
  tx.count(queue, countNameOf(row.state), -1)
  tx.count(queue, countNameOf(state), 1)
  if (row.state === leased)
    yield* leaseEnded(tx, queue, group_name, state === ready ? tx.now : undefined)
  else if (queue.settings.type === 'fifo' && group_name !== null) {
    yield* groupChanged(tx, queue.generation, group_name)
  }
}
