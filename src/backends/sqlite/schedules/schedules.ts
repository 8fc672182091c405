/**
 * Schedules and their ticks. The statement that moves a schedule on compares the tick that was due and
 * the rule, so of several processes that come at the same moment one ticks and the others change nothing.
 */

import { MillraceError } from '../../../core/millrace-error.ts'
import type {
  DueSchedules,
  EnsureSchedule,
  PauseSchedule,
  RenewSchedules,
  ResumeSchedule,
  RunNow,
  ScheduleName,
  ScheduleRecord,
  ScheduleScope,
  Tick,
  TickResult,
} from '../../schedule-store.ts'
import { change, query } from '../driver/statements.ts'
import type { StoreTransaction, StoreView } from '../driver/transaction.ts'
import { storeEmitted } from '../messages/emitting.ts'

/** Schedules that are handed out at once; the rest is still due when these have ticked. */
const dueAtOnce = 100

const columns = `
  name AS schedule, scope, rule, next_at AS nextAt, last_at AS lastAt, ticks, skipped, failed,
  last_error AS lastError, paused_at AS pausedAt, paused_by AS pausedBy, resumed_at AS resumedAt,
  resumed_by AS resumedBy, ran_at AS ranAt, ran_by AS ranBy`

const waiting = 'FROM schedule INDEXED BY schedule_due WHERE scope = ? AND paused_at IS NULL'

const sql = {
  add: change(`
    INSERT INTO schedule (name, scope, rule, next_at, declared_at) VALUES (?, ?, ?, ?, ?)`),
  change: change(`
    UPDATE schedule SET rule = ?, next_at = ?, declared_at = ? WHERE name = ?`),
  // A next tick that is too far away was worked out while the clock was ahead.
  renew: change(`
    UPDATE schedule SET declared_at = ?, next_at = min(next_at, coalesce(?, next_at))
    WHERE name = ? AND scope = ? AND rule = ?`),
  abandoned: query<{ name: string }>(
    'SELECT name FROM schedule WHERE scope = ? AND declared_at <= ?',
  ),
  find: query<ScheduleRecord>(`SELECT ${columns} FROM schedule WHERE name = ?`),
  due: query<ScheduleRecord>(`
    SELECT ${columns} ${waiting} AND next_at <= ? ORDER BY next_at LIMIT ${dueAtOnce}`),
  next: query<{ nextAt: number | null }>(
    `SELECT min(next_at) AS nextAt ${waiting} AND next_at > ?`,
  ),
  tick: change(`
    UPDATE schedule SET
      next_at = ?, last_at = max(coalesce(last_at, ?), coalesce(?, last_at)),
      ticks = ticks + ?, skipped = skipped + ?, failed = failed + ?,
      last_error = coalesce(?, last_error)
    WHERE name = ? AND rule = ? AND next_at = ? AND next_at <= ? AND paused_at IS NULL`),
  noteRun: change('UPDATE schedule SET ran_at = ?, ran_by = ? WHERE name = ?'),
  pause: change(`
    UPDATE schedule SET paused_at = ?, paused_by = ? WHERE name = ? AND paused_at IS NULL`),
  resume: change(`
    UPDATE schedule SET
      paused_at = NULL, paused_by = NULL, next_at = ?, resumed_at = ?, resumed_by = ?
    WHERE name = ? AND paused_at IS NOT NULL`),
  list: query<ScheduleRecord>(`SELECT ${columns} FROM schedule WHERE scope = ? ORDER BY name`),
  listAll: query<ScheduleRecord>(`SELECT ${columns} FROM schedule ORDER BY name`),
  remove: change('DELETE FROM schedule WHERE name = ?'),
}

export function ensureSchedule(tx: StoreTransaction, request: EnsureSchedule): ScheduleRecord {
  const { schedule, scope, rule, nextAt } = request
  const known = findSchedule(tx, request)
  if (known !== undefined && known.scope !== scope) throw ownedByAnother(known)
  if (known === undefined) tx.run(sql.add, schedule, scope, rule, nextAt, tx.now)
  else if (known.rule === rule) tx.run(sql.renew, tx.now, nextAt, schedule, scope, rule)
  else tx.run(sql.change, rule, nextAt, tx.now, schedule)
  tx.wroteRow()
  return required(tx, request)
}

export function dueSchedules(view: StoreView, { scope }: ScheduleScope): DueSchedules {
  const now = view.session.clock.wallMs
  const schedules = view.all(sql.due, scope, now)
  const next = view.one(sql.next, scope, now)
  return { now, schedules: schedules.map(recordOf), nextAt: next?.nextAt ?? null }
}

export function tickSchedule(tx: StoreTransaction, request: Tick): TickResult {
  const { schedule, rule, dueAt, nextAt, at, skipped, emission, failure } = request
  const emitted = emission === undefined ? null : at
  const moved = tx.changed(
    sql.tick,
    nextAt,
    emitted,
    emitted,
    emission === undefined ? 0 : 1,
    skipped,
    failure === undefined ? 0 : 1,
    failure ?? null,
    schedule,
    rule,
    dueAt,
    tx.session.clock.wallMs,
  )
  if (!moved) return { status: 'taken' }
  tx.wroteRow()
  const id = emission === undefined ? null : storeEmitted(tx, emission).id
  return { status: 'ticked', id }
}

export function runScheduleNow(tx: StoreTransaction, request: RunNow): TickResult {
  const { schedule, by, emission } = request
  if (!tx.changed(sql.noteRun, tx.now, by, schedule)) return { status: 'taken' }
  tx.wroteRow()
  return { status: 'ticked', id: storeEmitted(tx, emission).id }
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
  return findSchedule(tx, request)
}

export function findSchedule(
  view: StoreView,
  { schedule }: ScheduleName,
): ScheduleRecord | undefined {
  const row = view.one(sql.find, schedule)
  return row && recordOf(row)
}

export function listSchedules(
  view: StoreView,
  { scope }: Partial<ScheduleScope>,
): readonly ScheduleRecord[] {
  const rows = scope === undefined ? view.all(sql.listAll) : view.all(sql.list, scope)
  return rows.map(recordOf)
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

/** Rows arrive as objects without a prototype, which are not equal to any other object. */
function recordOf(row: ScheduleRecord): ScheduleRecord {
  return { ...row }
}

function required(view: StoreView, name: ScheduleName): ScheduleRecord {
  const record = findSchedule(view, name)
  // It was written in this transaction.
  if (record === undefined) throw new MillraceError('store_failed')
  return record
}

function ownedByAnother({ schedule, scope }: ScheduleRecord): MillraceError {
  const allowed = `another name; ${scope} has a schedule of this one`
  return MillraceError.invalid([{ field: 'schedule', given: `'${schedule}'`, allowed }])
}
