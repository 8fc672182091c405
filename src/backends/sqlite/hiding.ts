/**
 * Changes the visibility of a message for somebody who does not hold it any more: see `anyLease` in the
 * port. The receipt names the message and fences nothing, so jobs and FIFO queues are left alone.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { leaseMsMax } from '../../core/limits.ts'
import { hold } from './holding.ts'
import { inHand } from './lanes.ts'
import { blocked, leased, type MessageRow, ready } from './messages.ts'
import { changed } from './rows.ts'
import { tenantsLeased } from './tenants.ts'
import type { Queue } from './topology.ts'
import type { StoreTransaction } from './transaction.ts'

export interface HidingStatements {
  readonly move: StatementSync
  readonly hide: StatementSync
}

export function prepareHiding(db: DatabaseSync): HidingStatements {
  const plain = 'WHERE sequence = ? AND generation = ? AND job_type IS NULL'
  return {
    move: db.prepare(`
      UPDATE message SET due_at = ?, held_until = ? ${plain} AND state = ${leased}`),
    // The token stays, so that the latest holder has the message in hand again.
    hide: db.prepare(`
      UPDATE message SET state = ${leased}, due_at = ?, held_until = ?, lane = ?
      ${plain} AND (state = ${ready} OR state = ${blocked})`),
  }
}

/** Whether any receipt may change when the message can be received: not a job, and not in FIFO order. */
export function canBeHidden({ settings }: Queue, { job }: MessageRow): boolean {
  return settings.type === 'standard' && job === null
}

/**
 * Moves the end of whatever lease the message has, or hides it again if it has none; false when it
 * was received too long ago for that.
 */
export function hideUnheld(
  tx: StoreTransaction,
  queue: Queue,
  row: MessageRow,
  until: number,
): boolean {
  // Also where nothing would change: the answer must not depend on whether a lapse was noticed.
  if (row.leased_at < until - leaseMsMax) return false
  const { move, hide } = tx.session.hiding
  const { dueAt, heldUntil } = hold(queue, row.sent_at, until)
  const message = [row.sequence, queue.generation] as const
  if (changed(move, dueAt, heldUntil, ...message)) {
    tx.wroteRow(queue)
    return true
  }
  // What can be received stays so.
  if (until <= tx.now) return true
  const lane = queue.countsRunning ? inHand : null
  if (!changed(hide, dueAt, heldUntil, lane, ...message)) return false
  tx.count(queue, 'ready', -1)
  tx.count(queue, 'leased', 1)
  tenantsLeased(tx, queue, [row])
  return true
}
