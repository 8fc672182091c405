/** Changes of the states of alarms: kept for a limited time, up to a limited number. */

import type { AlarmState, AlarmTransition, ListAlarmHistory } from '../../backends/alarm-store.ts'
import type { Page } from '../../backends/backend.ts'
import { numberedPage, numberOf } from '../numbered-pages.ts'
import { change, query, upTo } from '../statements.ts'
import type { Steps } from '../steps.ts'
import type { Transaction, View } from '../transaction.ts'

const keptMs = 90 * 86_400_000
const keptMax = 10_000

/** Removed with each new one at most, so that none of them takes long. */
const forgottenAtOnce = 100

const columns = 'number, alarm, from_state, to_state, reason, at'

const sql = {
  note: query<{ number: number }>(`
    INSERT INTO alarm_event (alarm, from_state, to_state, reason, at) VALUES (?, ?, ?, ?, ?)
    RETURNING number`),
  all: query<EventRow>(`
    SELECT ${columns} FROM alarm_event WHERE number < ? ORDER BY number DESC ${upTo}`),
  ofAlarm: query<EventRow>(`
    SELECT ${columns} FROM alarm_event /*sqlite INDEXED BY alarm_event_by_alarm */
    WHERE alarm = ? AND number < ? ORDER BY number DESC ${upTo}`),
  oldest: query<{ number: number; at: number }>(`
    SELECT number, at FROM alarm_event ORDER BY number LIMIT ${forgottenAtOnce}`),
  forgetUpTo: change('DELETE FROM alarm_event WHERE number <= ?'),
}

export function* noteTransition(tx: Transaction, transition: AlarmTransition): Steps<void> {
  const { alarm, from, to, reason, at } = transition
  const { number = 0 } = (yield* tx.one(sql.note, alarm, from, to, reason, at)) ?? {}
  tx.wroteRow()
  const tooMany = number - keptMax
  const old = (yield* tx.all(sql.oldest)).filter(
    (event) => event.number <= tooMany || event.at <= tx.now - keptMs,
  )
  const last = old.at(-1)
  if (last !== undefined) yield* tx.run(sql.forgetUpTo, last.number)
}

interface EventRow {
  readonly number: number
  readonly alarm: string
  readonly from_state: AlarmState
  readonly to_state: AlarmState
  readonly reason: string
  readonly at: number
}

export function* listTransitions(
  view: View,
  { alarm, after, limit }: ListAlarmHistory,
): Steps<Page<AlarmTransition>> {
  const before = after === undefined ? Number.MAX_SAFE_INTEGER : numberOf(after)
  const rows =
    alarm === undefined
      ? yield* view.all(sql.all, before, limit + 1)
      : yield* view.all(sql.ofAlarm, alarm, before, limit + 1)
  return numberedPage(rows, limit, (row) => ({
    alarm: row.alarm,
    from: row.from_state,
    to: row.to_state,
    reason: row.reason,
    at: row.at,
  }))
}
