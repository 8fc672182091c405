/**
 * The outbox of notifications: written with what they tell of, leased by whoever delivers them, and
 * gone once they were. The number of attempts is the token of a lease, and part of its id.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { MillraceError } from '../../../core/millrace-error.ts'
import type {
  NewNotification,
  Notification,
  SettleNotification,
  TakeNotifications,
} from '../../alarm-store.ts'
import { allRows, changed, upTo } from '../driver/rows.ts'
import type { StoreTransaction } from '../driver/transaction.ts'

export interface NotificationStatements {
  readonly add: StatementSync
  readonly due: StatementSync
  readonly lease: StatementSync
  readonly retry: StatementSync
  readonly remove: StatementSync
  readonly removeOld: StatementSync
}

/** Where nothing delivers them, the oldest make room. */
const waitingMax = 10_000

export function prepareNotifications(db: DatabaseSync): NotificationStatements {
  return {
    add: db.prepare(`
      INSERT INTO notification (alarm, kind, target, body, created_at, attempt, due_at)
      VALUES (?, ?, ?, ?, ?, 0, ?)`),
    // Whoever hears of the end before the beginning takes an alarm for one that rings.
    due: db.prepare(`
      SELECT number, kind, target, body, created_at, attempt
      FROM notification AS n INDEXED BY notification_due
      WHERE due_at <= ? AND NOT EXISTS (
        SELECT 1 FROM notification AS earlier INDEXED BY notification_by_alarm
        WHERE earlier.alarm = n.alarm AND earlier.created_at < n.created_at
          AND earlier.kind = n.kind AND earlier.target = n.target
      )
      ORDER BY due_at, number ${upTo}`),
    lease: db.prepare('UPDATE notification SET attempt = attempt + 1, due_at = ? WHERE number = ?'),
    retry: db.prepare(
      'UPDATE notification SET due_at = ?, error = ? WHERE number = ? AND attempt = ?',
    ),
    remove: db.prepare('DELETE FROM notification WHERE number = ? AND attempt = ?'),
    removeOld: db.prepare('DELETE FROM notification WHERE number <= ?'),
  }
}

export function addNotifications(
  tx: StoreTransaction,
  alarm: string,
  notifications: readonly NewNotification[],
): void {
  const { add, removeOld } = tx.session.notifications
  for (const { kind, target, body } of notifications) {
    const { lastInsertRowid } = add.run(alarm, kind, target, body, tx.now, tx.now)
    removeOld.run(Number(lastInsertRowid) - waitingMax)
    tx.wroteRow()
  }
}

interface NotificationRow extends NewNotification {
  readonly number: number
  readonly created_at: number
  readonly attempt: number
}

export function takeNotifications(
  tx: StoreTransaction,
  { limit, leaseMs }: TakeNotifications,
): readonly Notification[] {
  const { due, lease } = tx.session.notifications
  return allRows<NotificationRow>(due, tx.now, limit).map((row) => {
    lease.run(tx.now + leaseMs, row.number)
    tx.wroteRow()
    const { kind, target, body, created_at: createdAt } = row
    const attempt = row.attempt + 1
    const key = String(row.number)
    return { id: `${key}.${attempt}`, key, kind, target, body, attempt, createdAt }
  })
}

export function settleNotification(tx: StoreTransaction, settlement: SettleNotification): void {
  const { retry, remove } = tx.session.notifications
  const lease = leaseOf(settlement.id)
  const written =
    settlement.outcome === 'retry'
      ? changed(retry, tx.now + settlement.delayMs, settlement.error, ...lease)
      : changed(remove, ...lease)
  if (written) tx.wroteRow()
}

function leaseOf(id: string): readonly [number: number, attempt: number] {
  const [, number, attempt] = /^(\d{1,15})\.(\d{1,15})$/.exec(id) ?? []
  if (number !== undefined && attempt !== undefined) return [Number(number), Number(attempt)]
  const allowed = 'the id of a notification that was taken'
  throw MillraceError.invalid([{ field: 'id', given: 'another text', allowed }])
}
