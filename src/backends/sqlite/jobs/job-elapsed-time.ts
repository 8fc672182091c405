/**
 * Brings a job up to date before it is read. The sweep is late to notice that a lease has lapsed, that a
 * job has expired or that a queue was purged; a reader must not see the difference.
 */

import { query } from '../driver/statements.ts'
import type { StoreTransaction, StoreView } from '../driver/transaction.ts'
import { applyElapsedTime, type ElapsedRow, elapsedColumns } from '../messages/elapsed-time.ts'
import { isRunning } from '../messages/expiry.ts'
import { delayed, leased } from '../messages/message-rows.ts'
import { discardMessage } from '../sweep.ts'

const sql = {
  job: query<FoundRow>(`
    SELECT ${elapsedColumns}, queue.name AS queue, discarded_generation.queue AS discarded
    FROM message
    LEFT JOIN queue ON queue.generation = message.generation
    LEFT JOIN discarded_generation ON discarded_generation.generation = message.generation
    WHERE sequence = ? AND job_type IS NOT NULL`),
}

interface FoundRow extends ElapsedRow {
  readonly queue: string | null
  /** The queue that it was in when that was purged or deleted. */
  readonly discarded: string | null
}

/** Whether the row of a job is behind: time or a purge has ended it. */
export function isJobDue(view: StoreView, id: string): boolean {
  const row = findJob(view, id)
  return row !== undefined && (row.discarded !== null || isJobOver(view, row))
}

export function endDueJob(tx: StoreTransaction, id: string): void {
  const row = findJob(tx, id)
  if (row === undefined) return
  const { queue, discarded } = row
  if (discarded !== null) discardMessage(tx, discarded, row)
  else if (queue !== null && isJobOver(tx, row)) {
    applyElapsedTime(tx, tx.queue(queue), row)
  }
}

function findJob(view: StoreView, id: string): FoundRow | undefined {
  const number = view.session.messageIds.sequenceOf(id)
  return number === undefined ? undefined : view.one(sql.job, number)
}

function isJobOver(view: StoreView, row: FoundRow): boolean {
  const { now } = view
  if (row.queue === null) return false
  const isHeld = row.state === leased || row.state === delayed
  if (isHeld && row.due_at <= now) return true
  return row.expires_at !== null && row.expires_at <= now && !isRunning(row)
}
