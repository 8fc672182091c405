/**
 * Changes the visibility of a message for a receiver whose lease has ended: see `anyLease` in the port.
 * The receipt only names the message, so jobs, FIFO queues and messages under another live lease are
 * left alone.
 */

import { leaseMsMax } from '../../core/limits.ts'
import type { Queue } from '../queues/queue.ts'
import { byKey, change } from '../statements.ts'
import type { Steps } from '../steps.ts'
import type { Transaction } from '../transaction.ts'
import { runningBucket } from './buckets.ts'
import { holdLeased } from './expiry.ts'
import { blocked, leased, type MessageRow, ready, unleasedToken } from './message-rows.ts'
import { tenantsLeased } from './tenants.ts'

/** The condition that no lease on the message is live; its parameter is the time. */
export const isUnheld: string = `NOT (state = ${leased} AND token <> ${unleasedToken} AND due_at > ?)`

/** The same, the other way round, of a row that was read. A message that waits for its retry is not held. */
export function isHeld({ state, token, due_at }: MessageRow, now: number): boolean {
  return state === leased && token !== unleasedToken && due_at > now
}

const plain = 'WHERE sequence = ? AND generation = ? AND job_type IS NULL'
/**
 * The latest receipt holds the message again. Hidden by an older one, the message is held by none, so
 * that its lease does not shut out the receipt that hid it.
 */
const token = `token = CASE token WHEN ? THEN token ELSE ${unleasedToken} END`

const sql = {
  move: change(`
    UPDATE message SET due_at = ?, held_until = ?, ${token}
    ${plain} AND state${byKey} = ${leased} AND ${isUnheld}`),
  hide: change(`
    UPDATE message SET state = ${leased}, due_at = ?, held_until = ?, ${token}, bucket = ?
    ${plain} AND (state = ${ready} OR state = ${blocked})`),
}

/** Whether any receipt may change the message: not a job, and not in FIFO order. */
export function isForAnyLease({ settings }: Queue, { job }: MessageRow): boolean {
  return settings.type === 'standard' && job === null
}

export interface VisibilityChange {
  readonly until: number
  /** Of the receipt that asks for it. */
  readonly token: number
}

/**
 * Hides a message again that no live lease holds, or moves the time of its retry; false when it was
 * received too long ago for that.
 */
export function* hideUnheld(
  tx: Transaction,
  queue: Queue,
  row: MessageRow,
  { until, token }: VisibilityChange,
): Steps<boolean> {
  // Also where nothing would change: the result must not depend on whether a lapse was noticed.
  if (row.leased_at < until - leaseMsMax) return false
  const canBeReceived = row.state !== leased || row.due_at <= tx.now
  if (until <= tx.now && canBeReceived) return true
  const { dueAt, heldUntil } = holdLeased(queue, row, false, until)
  const message = [row.sequence, queue.generation] as const
  if (yield* tx.changed(sql.move, dueAt, heldUntil, token, ...message, tx.now)) {
    tx.wroteRow(queue)
    return true
  }
  const bucket = queue.countsRunning ? runningBucket : null
  if (!(yield* tx.changed(sql.hide, dueAt, heldUntil, token, bucket, ...message))) return false
  tx.count(queue, 'ready', -1)
  tx.count(queue, 'leased', 1)
  yield* tenantsLeased(tx, queue, [row])
  return true
}
