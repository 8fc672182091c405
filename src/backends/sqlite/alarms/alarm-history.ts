/** How alarms changed their states: kept for a while, and never more than so many. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { AlarmState, AlarmTransition, ListAlarmHistory } from '../../alarm-store.ts'
import type { Page } from '../../backend.ts'
import { numberedPage, numberOf } from '../driver/numbered-pages.ts'
import { allRows, upTo } from '../driver/rows.ts'
import type { Session } from '../driver/session.ts'
import type { StoreTransaction } from '../driver/transaction.ts'

export interface AlarmHistoryStatements {
  readonly note: StatementSync
  readonly all: StatementSync
  readonly ofAlarm: StatementSync
  readonly oldest: StatementSync
  readonly forgetUpTo: StatementSync
}

const keptMs = 90 * 86_400_000
const keptMax = 10_000

/** Removed with each new one at most, so that none of them takes long. */
const forgottenAtOnce = 100

export function prepareAlarmHistory(db: DatabaseSync): AlarmHistoryStatements {
  const columns = 'number, alarm, from_state, to_state, reason, at'
  return {
    note: db.prepare(`
      INSERT INTO alarm_event (alarm, from_state, to_state, reason, at) VALUES (?, ?, ?, ?, ?)`),
    all: db.prepare(`
      SELECT ${columns} FROM alarm_event WHERE number < ? ORDER BY number DESC ${upTo}`),
    ofAlarm: db.prepare(`
      SELECT ${columns} FROM alarm_event INDEXED BY alarm_event_by_alarm
      WHERE alarm = ? AND number < ? ORDER BY number DESC ${upTo}`),
    oldest: db.prepare(`
      SELECT number, at FROM alarm_event ORDER BY number LIMIT ${forgottenAtOnce}`),
    forgetUpTo: db.prepare('DELETE FROM alarm_event WHERE number <= ?'),
  }
}

export function noteTransition(tx: StoreTransaction, transition: AlarmTransition): void {
  const { alarm, from, to, reason, at } = transition
  const { alarmHistory } = tx.session
  const { lastInsertRowid } = alarmHistory.note.run(alarm, from, to, reason, at)
  tx.wroteRow()
  const tooMany = Number(lastInsertRowid) - keptMax
  const old = allRows<{ number: number; at: number }>(alarmHistory.oldest).filter(
    (event) => event.number <= tooMany || event.at <= tx.now - keptMs,
  )
  const last = old.at(-1)
  if (last !== undefined) alarmHistory.forgetUpTo.run(last.number)
}

interface EventRow {
  readonly number: number
  readonly alarm: string
  readonly from_state: AlarmState
  readonly to_state: AlarmState
  readonly reason: string
  readonly at: number
}

export function listTransitions(
  session: Session,
  { alarm, after, limit }: ListAlarmHistory,
): Page<AlarmTransition> {
  const before = after === undefined ? Number.MAX_SAFE_INTEGER : numberOf(after)
  const { all, ofAlarm } = session.alarmHistory
  const rows =
    alarm === undefined
      ? allRows<EventRow>(all, before, limit + 1)
      : allRows<EventRow>(ofAlarm, alarm, before, limit + 1)
  return numberedPage(rows, limit, (row) => ({
    alarm: row.alarm,
    from: row.from_state,
    to: row.to_state,
    reason: row.reason,
    at: row.at,
  }))
}
