/**
 * Brings a job up to date before it is read. The sweep is late to notice that a lease has lapsed, that a
 * job has expired or that a queue was purged; a reader must not see the difference.
 */

import { applyElapsedTime, type ElapsedRow, elapsedColumns } from '../messages/elapsed-time.ts'
import { isRunning } from '../messages/expiry.ts'
import { delayed, leased } from '../messages/message-rows.ts'
import { type Query, query } from '../statements.ts'
import type { Steps } from '../steps.ts'
import { discardMessage } from '../sweep.ts'
import type { Transaction, View } from '../transaction.ts'

const job = `
    SELECT ${elapsedColumns}, queue.name AS queue, discarded_generation.queue AS discarded
    FROM message
    LEFT JOIN queue ON queue.generation = message.generation
    LEFT JOIN discarded_generation ON discarded_generation.generation = message.generation
    WHERE sequence = ? AND job_type IS NOT NULL`

const sql = {
  toRead: query<FoundRow>(job),
  toEnd: query<FoundRow>(`${job} /*postgres FOR UPDATE OF message */`),
}

interface FoundRow extends ElapsedRow {
  readonly queue: string | null
  /** The queue that it was in when that was purged or deleted. */
  readonly discarded: string | null
}

/** Whether the row of a job is behind: time or a purge has ended it. */
export function* isJobDue(view: View, id: string): Steps<boolean> {
  const row = yield* findJob(view, id, sql.toRead)
  return row !== undefined && (row.discarded !== null || isJobOver(view, row))
}

export function* endDueJob(tx: Transaction, id: string): Steps<void> {
  const row = yield* findJob(tx, id, sql.toEnd)
  if (row === undefined) return
  const { queue, discarded } = row
  if (discarded !== null) yield* discardMessage(tx, discarded, row)
  else if (queue !== null && isJobOver(tx, row)) {
    yield* applyElapsedTime(tx, yield* tx.queue(queue), row)
  }
}

function* findJob(view: View, id: string, statement: Query<FoundRow>): Steps<FoundRow | undefined> {
  const number = view.messageIds.sequenceOf(id)
  return number === undefined ? undefined : yield* view.one(statement, number)
}

function isJobOver(view: View, row: FoundRow): boolean {
  const { now } = view
  if (row.queue === null) return false
  const isHeld = row.state === leased || row.state === delayed
  if (isHeld && row.due_at <= now) return true
  return row.expires_at !== null && row.expires_at <= now && !isRunning(row)
}
