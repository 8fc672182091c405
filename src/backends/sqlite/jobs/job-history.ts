/**
 * The end of a job, and of its attempts. A finished job is copied out of its message by the statement
 * that knows the lease, right before the message is deleted or moved in the same transaction.
 */

import type { Failure } from '../../../core/failure.ts'
import type { FinishedJobStatus } from '../../../core/job-state.ts'
import type { Receipt } from '../../../core/receipt.ts'
import type { JobAttempt } from '../../job-store.ts'
import type { Session } from '../driver/session.ts'
import { change, query } from '../driver/statements.ts'
import type { StoreTransaction } from '../driver/transaction.ts'
import type { Queue } from '../queues/queue-cache.ts'
import { type NumberedAttempt, storeFailure } from './attempt-details.ts'

/** Rows that a worker claimed with one statement: their tokens are as far apart as their numbers. */
export const leasedTogether = `
  sequence BETWEEN ? AND ? AND generation = ? AND token = ? + sequence AND state = 1 AND due_at > ?
  AND body IS NOT NULL AND group_name IS NULL AND unit IS NULL`

const finishWhere = (rows: string): string => `
  INSERT INTO finished_job (
    number, queue, type, status, owner, group_name, details, payload, result, error, attempts,
    created_at, started_at, last_started_at, finished_at, unit
  )
  SELECT sequence, ?, job_type, ?, job_owner, group_name, job,
    coalesce(body, (SELECT b.body FROM message_body b WHERE b.sequence = message.sequence)),
    ?, ?, receive_count, sent_at,
    CASE WHEN receive_count > 0 THEN coalesce(first_received_at, leased_at) END,
    CASE WHEN receive_count > 0 THEN leased_at END, ?, unit
  FROM message WHERE ${rows} AND job_type IS NOT NULL`
const finish = finishWhere('sequence = ?')

const sql = {
  finish: change(finish),
  finishTogether: change(finishWhere(leasedTogether)),
  // A job whose last lease lapsed, or that has expired since, has ended although the sweep has not noticed.
  finishHeld: change(`
    ${finish} AND generation = ? AND token = ?
      AND ((state = 1 AND due_at > ?)
        OR (receive_count < (job ->> '$.max') AND (expires_at IS NULL OR expires_at > ?)))`),
  finishLive: change(`
    ${finish} AND generation = ? AND token = ? AND state = 1 AND due_at > ?`),
  addAttempt: change(`
    INSERT OR REPLACE INTO job_attempt (number, attempt, started_at, ended_at, outcome, error)
    VALUES (?, ?, ?, ?, ?, ?)`),
  attemptOutcome: query<{ outcome: JobAttempt['outcome'] }>(
    'SELECT outcome FROM job_attempt WHERE number = ? AND attempt = ?',
  ),
}

export type LeasedTogether = readonly [
  first: number,
  last: number,
  generation: number,
  tokenOffset: number,
  now: number,
]

/** Ends all jobs of the rows; returns how many there were. */
export function finishTogether(tx: StoreTransaction, rows: LeasedTogether, ending: Ending): number {
  const count = Number(tx.changes(sql.finishTogether, ...valuesOf(tx, ending), ...rows))
  if (count > 0) tx.wroteRow()
  return count
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
export function finishJob(tx: StoreTransaction, sequence: number, ending: Ending): void {
  if (tx.changed(sql.finish, ...valuesOf(tx, ending), sequence)) tx.wroteRow()
}

export interface Lease {
  readonly receipt: Receipt
  readonly queue: Queue
  /** A lapsed lease is enough, as long as the message was not leased again. */
  readonly mayHaveLapsed: boolean
}

/** The same, by the holder of the lease; false when it is not a job, or the lease does not match. */
export function finishLeasedJob(tx: StoreTransaction, lease: Lease, ending: Ending): boolean {
  const { receipt, queue, mayHaveLapsed } = lease
  const fence = [receipt.sequence, queue.generation, receipt.token] as const
  const values = valuesOf(tx, ending)
  const isFinished = mayHaveLapsed
    ? tx.changed(sql.finishHeld, ...values, ...fence, tx.now, tx.now)
    : tx.changed(sql.finishLive, ...values, ...fence, tx.now)
  if (isFinished) tx.wroteRow()
  return isFinished
}

function valuesOf(
  tx: StoreTransaction,
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
export function noteAttempt(tx: StoreTransaction, row: EndedAttempt, end: AttemptEnd): void {
  const { sequence, receive_count, leased_at } = row
  const { outcome, error = null, failure, at } = end
  const values = [sequence, receive_count, leased_at, at, outcome, error] as const
  tx.run(sql.addAttempt, ...values)
  if (failure !== undefined) storeFailure(tx, row, failure)
  tx.wroteRow()
}

/** Whether an attempt ended because its lease lapsed. */
export function wasLost(session: Session, sequence: number, attempt: number): boolean {
  const row = session.one(sql.attemptOutcome, sequence, attempt)
  return row?.outcome === 'lapsed'
}
