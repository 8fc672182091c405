/**
 * Schedules and their ticks. The statement that moves a schedule on compares the tick that was due and
 * the rule, so of several processes that come at the same moment one ticks and the others change nothing.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
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
import { allRows, changed, getRow } from '../driver/rows.ts'
import type { Session } from '../driver/session.ts'
import type { StoreTransaction } from '../driver/transaction.ts'
import { storeEmission } from '../messages/emitting.ts'

export interface ScheduleStatements {
  readonly add: StatementSync
  readonly change: StatementSync
  readonly renew: StatementSync
  readonly abandoned: StatementSync
  readonly find: StatementSync
  readonly due: StatementSync
  readonly next: StatementSync
  readonly tick: StatementSync
  readonly noteRun: StatementSync
  readonly pause: StatementSync
  readonly resume: StatementSync
  readonly list: StatementSync
  readonly listAll: StatementSync
  readonly remove: StatementSync
}

/** Schedules that are handed out at once; the rest is still due when these have ticked. */
const dueAtOnce = 100

const columns = `
  name AS schedule, scope, rule, next_at AS nextAt, last_at AS lastAt, ticks, skipped, failed,
  last_error AS lastError, paused_at AS pausedAt, paused_by AS pausedBy, resumed_at AS resumedAt,
  resumed_by AS resumedBy, ran_at AS ranAt, ran_by AS ranBy`

export function prepareSchedules(db: DatabaseSync): ScheduleStatements {
  const waiting = 'FROM schedule INDEXED BY schedule_due WHERE scope = ? AND paused_at IS NULL'
  return {
    add: db.prepare(`
      INSERT INTO schedule (name, scope, rule, next_at, declared_at) VALUES (?, ?, ?, ?, ?)`),
    change: db.prepare(`
      UPDATE schedule SET rule = ?, next_at = ?, declared_at = ? WHERE name = ?`),
    // A next tick that is too far away was worked out while the clock was ahead.
    renew: db.prepare(`
      UPDATE schedule SET declared_at = ?, next_at = min(next_at, coalesce(?, next_at))
      WHERE name = ? AND scope = ? AND rule = ?`),
    abandoned: db.prepare('SELECT name FROM schedule WHERE scope = ? AND declared_at <= ?'),
    find: db.prepare(`SELECT ${columns} FROM schedule WHERE name = ?`),
    due: db.prepare(`
      SELECT ${columns} ${waiting} AND next_at <= ? ORDER BY next_at LIMIT ${dueAtOnce}`),
    next: db.prepare(`SELECT min(next_at) AS nextAt ${waiting} AND next_at > ?`),
    tick: db.prepare(`
      UPDATE schedule SET
        next_at = ?, last_at = max(coalesce(last_at, ?), coalesce(?, last_at)),
        ticks = ticks + ?, skipped = skipped + ?, failed = failed + ?,
        last_error = coalesce(?, last_error)
      WHERE name = ? AND rule = ? AND next_at = ? AND next_at <= ? AND paused_at IS NULL`),
    noteRun: db.prepare('UPDATE schedule SET ran_at = ?, ran_by = ? WHERE name = ?'),
    pause: db.prepare(`
      UPDATE schedule SET paused_at = ?, paused_by = ? WHERE name = ? AND paused_at IS NULL`),
    resume: db.prepare(`
      UPDATE schedule SET
        paused_at = NULL, paused_by = NULL, next_at = ?, resumed_at = ?, resumed_by = ?
      WHERE name = ? AND paused_at IS NOT NULL`),
    list: db.prepare(`SELECT ${columns} FROM schedule WHERE scope = ? ORDER BY name`),
    listAll: db.prepare(`SELECT ${columns} FROM schedule ORDER BY name`),
    remove: db.prepare('DELETE FROM schedule WHERE name = ?'),
  }
}

export function ensureSchedule(tx: StoreTransaction, request: EnsureSchedule): ScheduleRecord {
  const { schedule, scope, rule, nextAt } = request
  const { add, change, renew } = tx.session.schedules
  const known = findSchedule(tx.session, request)
  if (known !== undefined && known.scope !== scope) throw ownedByAnother(known)
  if (known === undefined) add.run(schedule, scope, rule, nextAt, tx.now)
  else if (known.rule === rule) renew.run(tx.now, nextAt, schedule, scope, rule)
  else change.run(rule, nextAt, tx.now, schedule)
  tx.wroteRow()
  return required(tx.session, request)
}

export function dueSchedules(session: Session, { scope }: ScheduleScope): DueSchedules {
  const now = session.clock.wallMs
  const schedules = allRows<ScheduleRecord>(session.schedules.due, scope, now)
  const next = getRow<{ nextAt: number | null }>(session.schedules.next, scope, now)
  return { now, schedules: schedules.map(recordOf), nextAt: next?.nextAt ?? null }
}

export function tickSchedule(tx: StoreTransaction, request: Tick): TickResult {
  const { schedule, rule, dueAt, nextAt, at, skipped, emission, failure } = request
  const emitted = emission === undefined ? null : at
  const moved = changed(
    tx.session.schedules.tick,
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
  const id = emission === undefined ? null : storeEmission(tx, emission).id
  return { status: 'ticked', id }
}

export function runScheduleNow(tx: StoreTransaction, request: RunNow): TickResult {
  const { schedule, by, emission } = request
  if (!changed(tx.session.schedules.noteRun, tx.now, by, schedule)) return { status: 'taken' }
  tx.wroteRow()
  return { status: 'ticked', id: storeEmission(tx, emission).id }
}

export function pauseSchedule(
  tx: StoreTransaction,
  request: PauseSchedule,
): ScheduleRecord | undefined {
  const { schedule, by } = request
  if (changed(tx.session.schedules.pause, tx.now, by, schedule)) tx.wroteRow()
  return findSchedule(tx.session, request)
}

export function resumeSchedule(
  tx: StoreTransaction,
  request: ResumeSchedule,
): ScheduleRecord | undefined {
  const { schedule, by, nextAt } = request
  if (changed(tx.session.schedules.resume, nextAt, tx.now, by, schedule)) tx.wroteRow()
  return findSchedule(tx.session, request)
}

export function findSchedule(
  session: Session,
  { schedule }: ScheduleName,
): ScheduleRecord | undefined {
  const row = getRow<ScheduleRecord>(session.schedules.find, schedule)
  return row && recordOf(row)
}

export function listSchedules(
  session: Session,
  { scope }: Partial<ScheduleScope>,
): readonly ScheduleRecord[] {
  const { list, listAll } = session.schedules
  const rows =
    scope === undefined ? allRows<ScheduleRecord>(listAll) : allRows<ScheduleRecord>(list, scope)
  return rows.map(recordOf)
}

export function renewSchedules(tx: StoreTransaction, request: RenewSchedules): readonly string[] {
  const { scope, schedules: declared, abandonedAfterMs } = request
  const { renew, abandoned, remove } = tx.session.schedules
  const others = declared.filter(
    ({ schedule, rule, nextAt }) => !changed(renew, tx.now, nextAt, schedule, scope, rule),
  )
  if (others.length < declared.length) tx.wroteRow()
  const names = new Set(declared.map(({ schedule }) => schedule))
  const left = allRows<{ name: string }>(abandoned, scope, tx.now - abandonedAfterMs)
  for (const { name } of left) {
    if (!names.has(name) && changed(remove, name)) tx.wroteRow()
  }
  return others
    .map(({ schedule }) => schedule)
    .filter(
      (schedule) =>
        findSchedule(tx.session, { schedule }) === undefined ||
        left.some(({ name }) => name === schedule),
    )
}

/** Rows arrive as objects without a prototype, which are not equal to any other object. */
function recordOf(row: ScheduleRecord): ScheduleRecord {
  return { ...row }
}

function required(session: Session, name: ScheduleName): ScheduleRecord {
  const record = findSchedule(session, name)
  // It was written in this transaction.
  if (record === undefined) throw new MillraceError('store_failed')
  return record
}

function ownedByAnother({ schedule, scope }: ScheduleRecord): MillraceError {
  const allowed = `another name; ${scope} has a schedule of this one`
  return MillraceError.invalid([{ field: 'schedule', given: `'${schedule}'`, allowed }])
}
