/**
 * The outbox of notifications: written in the commit of the change that they report, leased for delivery,
 * and removed after it. The number of attempts is the token of a lease, and part of its id.
 */

import type {
  NewNotification,
  Notification,
  SettleNotification,
  TakeNotifications,
} from '../../backends/alarm-store.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import { change, perRow, query, upTo } from '../statements.ts'
import { inTurn, type Steps } from '../steps.ts'
import type { Transaction } from '../transaction.ts'

/** Where nothing delivers them, the oldest make room. */
const waitingMax = 10_000

const sql = {
  add: query<{ number: number }>(`
    INSERT INTO notification (alarm, kind, target, body, created_at, attempt, due_at)
    VALUES (?, ?, ?, ?, ?, 0, ?) RETURNING number`),
  // In another order, the receiver would take an alarm that has ended for an active one.
  due: query<NotificationRow>(`
    SELECT number, kind, target, body, created_at, attempt
    FROM notification AS n /*sqlite INDEXED BY notification_due */
    WHERE due_at <= ? AND NOT EXISTS (
      SELECT 1 FROM notification AS earlier /*sqlite INDEXED BY notification_by_alarm */
      WHERE earlier.alarm = n.alarm AND earlier.created_at < n.created_at
        AND earlier.kind = n.kind AND earlier.target = n.target ${perRow}
    )
    ORDER BY due_at, number ${upTo}`),
  lease: change('UPDATE notification SET attempt = attempt + 1, due_at = ? WHERE number = ?'),
  retry: change('UPDATE notification SET due_at = ?, error = ? WHERE number = ? AND attempt = ?'),
  remove: change('DELETE FROM notification WHERE number = ? AND attempt = ?'),
  removeOld: change('DELETE FROM notification WHERE number <= ?'),
}

export function* addNotifications(
  tx: Transaction,
  alarm: string,
  notifications: readonly NewNotification[],
): Steps<void> {
  for (const { kind, target, body } of notifications) {
    const added = yield* tx.one(sql.add, alarm, kind, target, body, tx.now, tx.now)
    yield* tx.run(sql.removeOld, (added?.number ?? 0) - waitingMax)
    tx.wroteRow()
  }
}

interface NotificationRow extends NewNotification {
  readonly number: number
  readonly created_at: number
  readonly attempt: number
}

export function* takeNotifications(
  tx: Transaction,
  { limit, leaseMs }: TakeNotifications,
): Steps<readonly Notification[]> {
  yield* tx.lock('notifications')
  return yield* inTurn(yield* tx.all(sql.due, tx.now, limit), function* (row) {
    yield* tx.run(sql.lease, tx.now + leaseMs, row.number)
    tx.wroteRow()
    const { kind, target, body, created_at: createdAt } = row
    const attempt = row.attempt + 1
    const key = String(row.number)
    return { id: `${key}.${attempt}`, key, kind, target, body, attempt, createdAt }
  })
}

export function* settleNotification(tx: Transaction, settlement: SettleNotification): Steps<void> {
  const lease = leaseOf(settlement.id)
  const written =
    settlement.outcome === 'retry'
      ? yield* tx.changed(sql.retry, tx.now + settlement.delayMs, settlement.error, ...lease)
      : yield* tx.changed(sql.remove, ...lease)
  if (written) tx.wroteRow()
}

function leaseOf(id: string): readonly [number: number, attempt: number] {
  const [, number, attempt] = /^(\d{1,15})\.(\d{1,15})$/.exec(id) ?? []
  if (number !== undefined && attempt !== undefined) return [Number(number), Number(attempt)]
  const allowed = 'the id of a notification that was taken'
  throw MillraceError.invalid([{ field: 'id', given: 'another text', allowed }])
}
