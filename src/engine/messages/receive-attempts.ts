/**
 * Receive attempts on FIFO queues. A consumer that lost the response to a receive repeats it with the
 * same id and gets the same messages with the same receipts, as long as none of them was touched.
 */

import type { Delivery } from '../../backends/backend.ts'
import { deduplicationWindowMs } from '../../core/limits.ts'
import type { Queue } from '../queues/queue.ts'
import { byKey, change, orReplace, query } from '../statements.ts'
import { inTurn, type Steps } from '../steps.ts'
import type { Transaction } from '../transaction.ts'
import { holdLeased } from './expiry.ts'
import { deliveryFromRow, type MessageRow, messageColumns } from './message-rows.ts'

const sql = {
  find: query<{ leases: string }>(`
    SELECT leases FROM receive_attempt WHERE generation = ? AND id = ? AND expires_at${byKey} > ?`),
  remember: change(`
    INSERT INTO receive_attempt (generation, id, leases, expires_at)
    VALUES (?, ?, ?, ?)
    ${orReplace('generation, id', 'leases, expires_at')}`),
  leasedMessage: query<MessageRow>(`
    SELECT ${messageColumns} FROM message
    WHERE sequence = ? AND generation = ? AND token = ? AND coalesce(held_until, due_at) = ?
      AND state${byKey} = 1 AND due_at > ?`),
  renew: change(`
    UPDATE message SET due_at = ?, held_until = ?
    WHERE sequence = ? AND token = ? AND state${byKey} = 1`),
}

type RememberedLease = readonly [sequence: number, token: number, expiresAt: number]

/** The deliveries of an earlier receive with this id, or undefined when it does not count. */
export function* recallAttempt(
  tx: Transaction,
  queue: Queue,
  attemptId: string,
  visibilityMs: number,
): Steps<readonly Delivery[] | undefined> {
  if (queue.settings.type !== 'fifo') return undefined
  const found = yield* tx.one(sql.find, queue.generation, attemptId, tx.now)
  if (found === undefined) return undefined
  const leases: readonly RememberedLease[] = JSON.parse(found.leases)
  const rows: MessageRow[] = []
  for (const [sequence, token, expiresAt] of leases) {
    const values = [sequence, queue.generation, token, expiresAt, tx.now] as const
    const row = yield* tx.one(sql.leasedMessage, ...values)
    if (row === undefined) return undefined
    rows.push(row)
  }
  const leaseExpiresAt = tx.now + visibilityMs
  const deliveries = yield* inTurn(rows, function* (row) {
    const { token } = row
    const { dueAt, heldUntil } = holdLeased(queue, row, row.job !== null, leaseExpiresAt)
    yield* tx.run(sql.renew, dueAt, heldUntil, row.sequence, token)
    tx.wroteRow()
    return yield* deliveryFromRow(row, tx, {
      queueId: queue.id,
      token,
      leasedAt: tx.now,
      leaseExpiresAt,
      receiveCount: row.receive_count,
      firstReceivedAt: row.first_received_at,
    })
  })
  yield* rememberAttempt(tx, queue, attemptId, deliveries)
  return deliveries
}

export function* rememberAttempt(
  tx: Transaction,
  queue: Queue,
  attemptId: string,
  deliveries: readonly Delivery[],
): Steps<void> {
  if (queue.settings.type !== 'fifo' || deliveries.length === 0) return
  const leases = deliveries.map(({ sequence, token, leaseExpiresAt }) => [
    sequence,
    token,
    leaseExpiresAt,
  ])
  const expiresAt = tx.now + deduplicationWindowMs
  yield* tx.run(sql.remember, queue.generation, attemptId, JSON.stringify(leases), expiresAt)
}
