/**
 * Which schedules are due, and their ticks. The statement that moves a schedule on compares the tick that
 * was due, the rule and the definition, so of several processes that come at the same moment one ticks and
 * the others change nothing.
 */

import type {
  DueRequest,
  DueSchedules,
  ReportUnserved,
  RunNow,
  RunResult,
  ScheduleRecord,
  Tick,
  TickResult,
  Ticks,
} from '../../backends/schedule-store.ts'
import { refuseEmitted, storeEmitted } from '../messages/emitting.ts'
import { byKey, change, greatest, query, upTo } from '../statements.ts'
import { gathered, inTurn, type Steps } from '../steps.ts'
import type { Transaction, View } from '../transaction.ts'
import { columns, findSchedule, recordOf, removeEnded, storedDefinition } from './schedule-rows.ts'

/** Schedules that are handed out at once; the rest is still due when these have ticked. */
const dueAtOnce = 100

/** Schedules of one target that are looked at in order to report it. */
const reportedMax = 1_000

const waiting = 'schedule /*sqlite INDEXED BY schedule_due */ WHERE scope = ? AND paused_at IS NULL'
const dueOfTarget = `FROM ${waiting} AND target = ? AND next_at <= ?`

interface TargetTimes {
  readonly target: string
  readonly dueAt: number | null
  readonly nextAt: number | null
}

const sql = {
  // Targets are few, and found by leaps from one to the next.
  targets: query<TargetTimes>(`
    WITH RECURSIVE found (target) AS (
      SELECT min(target) FROM ${waiting}
      UNION ALL
      SELECT (SELECT min(target) FROM ${waiting} AND target > found.target)
      FROM found WHERE found.target IS NOT NULL
    )
    SELECT target,
      (SELECT min(next_at) FROM ${waiting} AND target = found.target AND next_at <= ?) AS "dueAt",
      (SELECT min(next_at) FROM ${waiting} AND target = found.target AND next_at > ?) AS "nextAt"
    FROM found WHERE target IS NOT NULL`),
  due: query<ScheduleRecord>(`SELECT ${columns} ${dueOfTarget} ORDER BY next_at, name ${upTo}`),
  overdue: query<{ name: string; lastError: string | null }>(`
    SELECT name, last_error AS "lastError" ${dueOfTarget} ORDER BY next_at, name LIMIT ${reportedMax}`),
  report: change('UPDATE schedule SET last_error = ? WHERE name = ?'),
  tick: change(`
    UPDATE schedule SET
      next_at = ?, last_at = ${greatest}(coalesce(last_at, ?), coalesce(?, last_at)),
      ticks = ticks + ?, skipped = skipped + ?, failed = failed + ?,
      last_error = coalesce(?, last_error)
    WHERE name = ? AND rule = ? AND definition IS NOT DISTINCT FROM ? AND next_at = ? AND next_at <= ?
      AND paused_at${byKey} IS NULL`),
  noteRun: change('UPDATE schedule SET ran_at = ?, ran_by = ? WHERE name = ?'),
}

export function* dueSchedules(view: View, request: DueRequest): Steps<DueSchedules> {
  const { scope, targets } = request
  const now = view.wallMs
  const times = yield* view.all(sql.targets, scope, scope, scope, now, scope, now)
  const isServed = ({ target }: TargetTimes): boolean => target === '' || targets.includes(target)
  const served = times.filter(isServed)
  const due = served.filter(({ dueAt }) => dueAt !== null)
  const share = Math.max(1, Math.floor(dueAtOnce / due.length))
  const found = yield* gathered(due, ({ target }) => view.all(sql.due, scope, target, now, share))
  const schedules = found.toSorted((one, other) => (one.nextAt ?? 0) - (other.nextAt ?? 0))
  const next = served.flatMap(({ nextAt }) => nextAt ?? [])
  return {
    now,
    schedules: schedules.map(recordOf),
    nextAt: next.length === 0 ? null : Math.min(...next),
    unserved: times.flatMap((one) =>
      isServed(one) || one.dueAt === null ? [] : { target: one.target, dueAt: one.dueAt },
    ),
  }
}

export function* tickSchedules(tx: Transaction, { ticks }: Ticks): Steps<readonly TickResult[]> {
  return yield* inTurn(ticks, (tick) => tickSchedule(tx, tick))
}

function* tickSchedule(tx: Transaction, request: Tick): Steps<TickResult> {
  const { schedule, rule, dueAt, nextAt, at, skipped, emission, failure } = request
  const error = emission && (yield* refuseEmitted(tx, emission))
  if (error !== undefined) return { status: 'refused', error }
  const definition = tx.isSealed
    ? storedDefinition(tx, yield* findSchedule(tx, request), request.definition)
    : request.definition
  const emitted = emission === undefined ? null : at
  const moved = yield* tx.changed(
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
    definition,
    dueAt,
    tx.wallMs,
  )
  if (!moved) return { status: 'taken' }
  tx.wroteRow()
  if (nextAt === null) yield* removeEnded(tx, request)
  const id = emission === undefined ? null : (yield* storeEmitted(tx, emission)).id
  return { status: 'ticked', id }
}

export function* runScheduleNow(tx: Transaction, request: RunNow): Steps<RunResult> {
  const { schedule, by, emission } = request
  if (!(yield* tx.changed(sql.noteRun, tx.now, by, schedule))) return undefined
  tx.wroteRow()
  return { id: (yield* storeEmitted(tx, emission)).id }
}

export function* reportUnserved(tx: Transaction, request: ReportUnserved): Steps<number> {
  const { scope, target, overdueMs, error } = request
  const overdue = yield* tx.all(sql.overdue, scope, target, tx.wallMs - overdueMs)
  const unreported = overdue.filter(({ lastError }) => lastError !== error)
  for (const { name } of unreported) yield* tx.run(sql.report, error, name)
  if (unreported.length > 0) tx.wroteRow()
  return unreported.length
}
