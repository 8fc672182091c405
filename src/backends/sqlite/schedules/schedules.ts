/** Declared schedules, as versions of an app bring them along; and what operators do with any schedule. */

import { MillraceError } from '../../../core/millrace-error.ts'
import type { Page } from '../../backend.ts'
import type {
  EnsureSchedule,
  ListSchedules,
  PauseSchedule,
  RenewSchedules,
  ResumeSchedule,
  ScheduleName,
  ScheduleRecord,
} from '../../schedule-store.ts'
import { change, query, upTo } from '../driver/statements.ts'
import type { StoreTransaction, StoreView } from '../driver/transaction.ts'
import {
  columns,
  findSchedule,
  nameTaken,
  ownedByAnother,
  recordOf,
  removeEnded,
} from './schedule-rows.ts'

const page = 'name >= ? AND name < ? AND (? IS NULL OR scope = ?)'

const sql = {
  add: change(`
    INSERT INTO schedule (name, scope, rule, next_at, declared_at) VALUES (?, ?, ?, ?, ?)`),
  change: change(`
    UPDATE schedule SET rule = ?, next_at = ?, declared_at = ? WHERE name = ?`),
  // A next tick that is too far away was worked out while the clock was ahead.
  renew: change(`
    UPDATE schedule SET declared_at = ?, next_at = min(next_at, coalesce(?, next_at))
    WHERE name = ? AND scope = ? AND rule = ?`),
  abandoned: query<{ name: string }>(`
    SELECT name FROM schedule INDEXED BY schedule_declared
    WHERE definition IS NULL AND scope = ? AND declared_at <= ?`),
  pause: change(`
    UPDATE schedule SET paused_at = ?, paused_by = ? WHERE name = ? AND paused_at IS NULL`),
  resume: change(`
    UPDATE schedule SET
      paused_at = NULL, paused_by = NULL, next_at = ?, resumed_at = ?, resumed_by = ?
    WHERE name = ? AND paused_at IS NOT NULL`),
  list: query<ScheduleRecord>(`
    SELECT ${columns} FROM schedule WHERE ${page} ORDER BY name ${upTo}`),
  listDeclared: query<ScheduleRecord>(`
    SELECT ${columns} FROM schedule INDEXED BY schedule_declared
    WHERE definition IS NULL AND ${page} ORDER BY name ${upTo}`),
  listSet: query<ScheduleRecord>(`
    SELECT ${columns} FROM schedule WHERE definition IS NOT NULL AND ${page}
    ORDER BY name ${upTo}`),
  remove: change('DELETE FROM schedule WHERE name = ?'),
}

export function ensureSchedule(tx: StoreTransaction, request: EnsureSchedule): ScheduleRecord {
  const { schedule, scope, rule, nextAt } = request
  const known = findSchedule(tx, request)
  if (known !== undefined && known.scope !== scope) throw ownedByAnother(known)
  if (known !== undefined && known.definition !== null) {
    throw nameTaken(schedule, 'another name, or to remove the schedule that was set under this one')
  }
  if (known === undefined) tx.run(sql.add, schedule, scope, rule, nextAt, tx.now)
  else if (known.rule === rule) tx.run(sql.renew, tx.now, nextAt, schedule, scope, rule)
  else tx.run(sql.change, rule, nextAt, tx.now, schedule)
  tx.wroteRow()
  return required(tx, request)
}

export function pauseSchedule(
  tx: StoreTransaction,
  request: PauseSchedule,
): ScheduleRecord | undefined {
  const { schedule, by } = request
  if (tx.changed(sql.pause, tx.now, by, schedule)) tx.wroteRow()
  return findSchedule(tx, request)
}

export function resumeSchedule(
  tx: StoreTransaction,
  request: ResumeSchedule,
): ScheduleRecord | undefined {
  const { schedule, by, nextAt } = request
  if (tx.changed(sql.resume, nextAt, tx.now, by, schedule)) tx.wroteRow()
  const record = findSchedule(tx, request)
  removeEnded(tx, request)
  return record
}

/** Sorts after every text with the prefix. */
const lastCharacter = '\u{10FFFF}'

/** Names contain no NUL character, so this is the first text after a name. */
const justAfter = '\0'

export function listSchedules(view: StoreView, request: ListSchedules): Page<ScheduleRecord> {
  const { scope = null, prefix = '', isDeclared, after, limit } = request
  if (after !== undefined && !after.startsWith(prefix)) throw foreignCursor()
  // One bound, because with two SQLite may choose the farther one and read from there.
  const from = after === undefined ? prefix : after + justAfter
  const to = prefix + lastCharacter
  const rows = view.all(listOf(isDeclared), from, to, scope, scope, limit + 1)
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

export function renewSchedules(tx: StoreTransaction, request: RenewSchedules): readonly string[] {
  const { scope, schedules: declared, abandonedAfterMs } = request
  const others = declared.filter(
    ({ schedule, rule, nextAt }) => !tx.changed(sql.renew, tx.now, nextAt, schedule, scope, rule),
  )
  if (others.length < declared.length) tx.wroteRow()
  const names = new Set(declared.map(({ schedule }) => schedule))
  const left = tx.all(sql.abandoned, scope, tx.now - abandonedAfterMs)
  for (const { name } of left) {
    if (!names.has(name) && tx.changed(sql.remove, name)) tx.wroteRow()
  }
  return others
    .map(({ schedule }) => schedule)
    .filter(
      (schedule) =>
        findSchedule(tx, { schedule }) === undefined || left.some(({ name }) => name === schedule),
    )
}

function required(view: StoreView, name: ScheduleName): ScheduleRecord {
  const record = findSchedule(view, name)
  // It was written in this transaction.
  if (record === undefined) throw new MillraceError('store_failed')
  return record
}
