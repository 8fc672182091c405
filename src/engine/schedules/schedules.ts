/** Declared schedules, as versions of an app bring them along; and what operators do with any schedule. */

import type { Page } from '../../backends/backend.ts'
import type {
  EnsureSchedule,
  ListSchedules,
  PauseSchedule,
  RenewSchedules,
  ResumeSchedule,
  ScheduleName,
  ScheduleRecord,
} from '../../backends/schedule-store.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import { byKey, change, least, query, upTo } from '../statements.ts'
import { filtered, type Steps } from '../steps.ts'
import type { Transaction, View } from '../transaction.ts'
import {
  columns,
  findSchedule,
  nameTaken,
  ownedByAnother,
  recordOf,
  removeEnded,
} from './schedule-rows.ts'

const page = 'name >= ? AND name <> ? AND name < ? AND (CAST(? AS TEXT) IS NULL OR scope = ?)'

const sql = {
  add: change(`
    INSERT INTO schedule (name, scope, rule, next_at, declared_at) VALUES (?, ?, ?, ?, ?)`),
  change: change(`
    UPDATE schedule SET rule = ?, next_at = ?, declared_at = ? WHERE name = ?`),
  // A next tick that is too far away was worked out while the clock was ahead.
  renew: change(`
    UPDATE schedule SET declared_at = ?, next_at = ${least}(next_at, coalesce(?, next_at))
    WHERE name = ? AND scope = ? AND rule = ?`),
  abandoned: query<{ name: string }>(`
    SELECT name FROM schedule /*sqlite INDEXED BY schedule_declared */
    WHERE definition IS NULL AND scope = ? AND declared_at <= ?`),
  pause: change(`
    UPDATE schedule SET paused_at = ?, paused_by = ? WHERE name = ? AND paused_at${byKey} IS NULL`),
  resume: change(`
    UPDATE schedule SET
      paused_at = NULL, paused_by = NULL, next_at = ?, resumed_at = ?, resumed_by = ?
    WHERE name = ? AND paused_at IS NOT NULL`),
  list: query<ScheduleRecord>(`
    SELECT ${columns} FROM schedule WHERE ${page} ORDER BY name ${upTo}`),
  listDeclared: query<ScheduleRecord>(`
    SELECT ${columns} FROM schedule /*sqlite INDEXED BY schedule_declared */
    WHERE definition IS NULL AND ${page} ORDER BY name ${upTo}`),
  listSet: query<ScheduleRecord>(`
    SELECT ${columns} FROM schedule WHERE definition IS NOT NULL AND ${page}
    ORDER BY name ${upTo}`),
  remove: change('DELETE FROM schedule WHERE name = ?'),
}

export function* ensureSchedule(tx: Transaction, request: EnsureSchedule): Steps<ScheduleRecord> {
  const { schedule, scope, rule, nextAt } = request
  const known = yield* findSchedule(tx, request)
  if (known !== undefined && known.scope !== scope) throw ownedByAnother(known)
  if (known !== undefined && known.definition !== null) {
    throw nameTaken(schedule, 'another name, or to remove the schedule that was set under this one')
  }
  if (known === undefined) yield* tx.run(sql.add, schedule, scope, rule, nextAt, tx.now)
  else if (known.rule === rule) yield* tx.run(sql.renew, tx.now, nextAt, schedule, scope, rule)
  else yield* tx.run(sql.change, rule, nextAt, tx.now, schedule)
  tx.wroteRow()
  return yield* required(tx, request)
}

export function* pauseSchedule(
  tx: Transaction,
  request: PauseSchedule,
): Steps<ScheduleRecord | undefined> {
  const { schedule, by } = request
  if (yield* tx.changed(sql.pause, tx.now, by, schedule)) tx.wroteRow()
  return yield* findSchedule(tx, request)
}

export function* resumeSchedule(
  tx: Transaction,
  request: ResumeSchedule,
): Steps<ScheduleRecord | undefined> {
  const { schedule, by, nextAt } = request
  if (yield* tx.changed(sql.resume, nextAt, tx.now, by, schedule)) tx.wroteRow()
  const record = yield* findSchedule(tx, request)
  yield* removeEnded(tx, request)
  return record
}

/** Sorts after every text with the prefix. */
const lastCharacter = '\u{10FFFF}'

export function* listSchedules(view: View, request: ListSchedules): Steps<Page<ScheduleRecord>> {
  const { scope = null, prefix = '', isDeclared, after, limit } = request
  if (after !== undefined && !after.startsWith(prefix)) throw foreignCursor()
  // One lower bound, because with two SQLite may choose the farther one and read from there.
  const from = after ?? prefix
  const to = prefix + lastCharacter
  const rows = yield* view.all(listOf(isDeclared), from, after ?? '', to, scope, scope, limit + 1)
  const items = rows.slice(0, limit).map(recordOf)
  const last = items.at(-1)
  return rows.length > limit && last !== undefined ? { items, next: last.schedule } : { items }
}

function listOf(isDeclared: boolean | undefined): typeof sql.list {
  if (isDeclared === undefined) return sql.list
  return isDeclared ? sql.listDeclared : sql.listSet
}

function foreignCursor(): MillraceError {
  const allowed = "the 'next' of an earlier page with the same prefix"
  return MillraceError.invalid([{ field: 'after', given: 'another text', allowed }])
}

export function* renewSchedules(
  tx: Transaction,
  request: RenewSchedules,
): Steps<readonly string[]> {
  const { scope, schedules: declared, abandonedAfterMs } = request
  const others = yield* filtered(declared, function* ({ schedule, rule, nextAt }) {
    return !(yield* tx.changed(sql.renew, tx.now, nextAt, schedule, scope, rule))
  })
  if (others.length < declared.length) tx.wroteRow()
  const names = new Set(declared.map(({ schedule }) => schedule))
  const left = yield* tx.all(sql.abandoned, scope, tx.now - abandonedAfterMs)
  for (const { name } of left) {
    if (!names.has(name) && (yield* tx.changed(sql.remove, name))) tx.wroteRow()
  }
  const missing = yield* filtered(others, function* ({ schedule }) {
    if (left.some(({ name }) => name === schedule)) return true
    return (yield* findSchedule(tx, { schedule })) === undefined
  })
  return missing.map(({ schedule }) => schedule)
}

function* required(view: View, name: ScheduleName): Steps<ScheduleRecord> {
  const record = yield* findSchedule(view, name)
  // It was written in this transaction.
  if (record === undefined) throw new MillraceError('store_failed')
  return record
}
