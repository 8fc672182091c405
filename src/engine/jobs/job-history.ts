/**
 * The end of a job, and of its attempts. A finished job is copied out of its message by the statement
 * that knows the lease, right before the message is deleted or moved in the same transaction.
 */

import type { JobAttempt } from '../../backends/job-store.ts'
import type { Failure } from '../../core/failure.ts'
import type { FinishedJobStatus } from '../../core/job-state.ts'
import type { Receipt } from '../../core/receipt.ts'
import type { Queue } from '../queues/queue.ts'
import { byKey, change, forUpdate, orReplace, query } from '../statements.ts'
import type { Steps } from '../steps.ts'
import type { Transaction, View } from '../transaction.ts'
import { type NumberedAttempt, storeFailure } from './attempt-details.ts'

/** What is written about the end of a job; each is a parameter, unless it is given. */
interface EndColumns {
  readonly queue?: string
  readonly status?: string
  readonly result?: string
  readonly error?: string
  readonly at?: string
}

/** Copies jobs out of their messages. What follows says from where. */
export function finishJobs({
  queue = '?',
  status = '?',
  result = '?',
  error = '?',
  at = '?',
}: EndColumns = {}): string {
  return `
    INSERT INTO finished_job (
      number, queue, type, status, owner, group_name, details, payload, result, error, attempts,
      created_at, started_at, last_started_at, finished_at, unit
    )
    SELECT sequence, ${queue}, job_type, ${status}, job_owner, group_name, job,
      coalesce(body, (SELECT b.body FROM message_body b WHERE b.sequence = message.sequence)),
      ${result}, ${error}, receive_count, sent_at,
      CASE WHEN receive_count > 0 THEN coalesce(first_received_at, leased_at) END,
      CASE WHEN receive_count > 0 THEN leased_at END, ${at}, unit`
}

const finish = `${finishJobs()} FROM message WHERE sequence = ? AND job_type IS NOT NULL`

const sql = {
  finish: change(finish),
  // Both lock the message: if it is leased again before it is deleted, the job has not ended.
  // A job whose last lease lapsed, or that has expired since, has ended although the sweep has not noticed.
  finishHeld: change(`
    ${finish} AND generation = ? AND token = ?
      AND ((state = 1 AND due_at > ?)
        OR (receive_count < /*sqlite (job ->> '$.max') *//*postgres (job::json ->> 'max')::bigint */ AND (expires_at IS NULL OR expires_at > ?)))
    ${forUpdate}`),
  finishLive: change(`
    ${finish} AND generation = ? AND token = ? AND state${byKey} = 1 AND due_at > ? ${forUpdate}`),
  addAttempt: change(`
    INSERT INTO job_attempt (number, attempt, started_at, ended_at, outcome, error)
    VALUES (?, ?, ?, ?, ?, ?)
    ${orReplace('number, attempt', 'started_at, ended_at, outcome, error')}`),
  attemptOutcome: query<{ outcome: JobAttempt['outcome'] }>(
    'SELECT outcome FROM job_attempt WHERE number = ? AND attempt = ?',
  ),
}

export interface Ending {
  /** The queue's name. */
  readonly queue: string
  readonly status: FinishedJobStatus
  readonly result?: string | undefined
  readonly error?: string | undefined
  /** When it ended, if that is noticed only now. */
  readonly at?: number | undefined
}

/** Ends the job of a message that is about to go; nothing happens when the message is no job. */
export function* finishJob(tx: Transaction, sequence: number, ending: Ending): Steps<void> {
  if (yield* tx.changed(sql.finish, ...valuesOf(tx, ending), sequence)) tx.wroteRow()
}

export interface Lease {
  readonly receipt: Receipt
  readonly queue: Queue
  /** A lapsed lease is enough, as long as the message was not leased again. */
  readonly mayHaveLapsed: boolean
}

/** The same, by the holder of the lease; false when it is not a job, or the lease does not match. */
export function* finishLeasedJob(tx: Transaction, lease: Lease, ending: Ending): Steps<boolean> {
  const { receipt, queue, mayHaveLapsed } = lease
  const fence = [receipt.sequence, queue.generation, receipt.token] as const
  const values = valuesOf(tx, ending)
  const isFinished = mayHaveLapsed
    ? yield* tx.changed(sql.finishHeld, ...values, ...fence, tx.now, tx.now)
    : yield* tx.changed(sql.finishLive, ...values, ...fence, tx.now)
  if (isFinished) tx.wroteRow()
  return isFinished
}

function valuesOf(
  tx: Transaction,
  { queue, status, result, error, at = tx.now }: Ending,
): readonly [string, string, string | null, string | null, number] {
  return [queue, status, result ?? null, error ?? null, at]
}

export interface EndedAttempt extends NumberedAttempt {
  readonly leased_at: number
}

interface AttemptEnd extends Pick<JobAttempt, 'outcome'> {
  readonly error?: string | undefined
  readonly failure?: Failure | undefined
  readonly at: number
}

/** Remembers an attempt after which the job lives on. */
export function* noteAttempt(tx: Transaction, row: EndedAttempt, end: AttemptEnd): Steps<void> {
  const { sequence, receive_count, leased_at } = row
  const { outcome, error = null, failure, at } = end
  const values = [sequence, receive_count, leased_at, at, outcome, error] as const
  yield* tx.run(sql.addAttempt, ...values)
  if (failure !== undefined) yield* storeFailure(tx, row, failure)
  tx.wroteRow()
}

/** Whether an attempt ended because its lease lapsed. */
export function* wasLost(view: View, sequence: number, attempt: number): Steps<boolean> {
  const row = yield* view.one(sql.attemptOutcome, sequence, attempt)
  return row?.outcome === 'lapsed'
}
