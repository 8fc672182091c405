/**
 * Records the metrics of queues for the minute that has just ended. A minute is the difference between the
 * counters now and when they were last recorded. So nothing is counted twice or left out, whichever
 * process does it and however late. A minute in which no process did is missing.
 */

import type { ReportFigures, SampleReport } from '../../backends/metric-store.ts'
import { type HandlerFigures, handlersSince } from '../../core/handler-figures.ts'
import { metricsKeptMs, minuteMs, minuteOf } from '../../core/minutes.ts'
import { queueCounterNames } from '../../core/queue-counters.ts'
import { snakeCase } from '../../core/snake-case.ts'
import { oldestAge } from '../queues/oldest-age.ts'
import { readStatistics } from '../queues/statistics.ts'
import type { Statement } from '../statements.ts'
import { among, byKey, change, orReplace, query } from '../statements.ts'
import type { Steps } from '../steps.ts'
import type { Transaction, View } from '../transaction.ts'
import { addToHandlers, decodeHandlers, encodeHandlers } from './metric-handlers.ts'
import { addValues, forgetValues } from './metric-values.ts'

/** Queues that are recorded in one transaction; keeps a slice to a few milliseconds. */
const sampleSlice = 100

/** Old minutes that are removed in one go. */
const forgetSlice = 1_000

const columns: readonly string[] = queueCounterNames.map(snakeCase)
const all = columns.join(', ')
const marks = columns.map(() => '?').join(', ')
const gone = (table: string): Statement =>
  change(`DELETE FROM ${table} WHERE queue NOT IN (SELECT id FROM queue)`)

const sql = {
  sampled: change('UPDATE metric_handlers SET total = ?, sampled = ? WHERE queue = ?'),
  clock: query<ClockRow>('SELECT minute, after_queue FROM metric_clock'),
  setClock: change('UPDATE metric_clock SET minute = ?, after_queue = ?'),
  // Queues that hold something, or held something, or in which something was counted. What happened
  // in one that is younger than the minute belongs to the next.
  changed: query<ChangedRow>(`
    SELECT q.id, q.name, ${columns.map((name) => `c.${name}`).join(', ')},
      ${columns.map((name) => `c.${name} - coalesce(b.${name}, 0) AS ${name}_since`).join(', ')},
      h.total, h.sampled
    FROM queue_total c JOIN queue q ON q.id = c.queue
      LEFT JOIN metric_base b ON b.queue = c.queue
      LEFT JOIN metric_handlers h ON h.queue = c.queue
    WHERE c.queue > ? AND q.created_at < ? AND (
      c.ready > 0 OR c.leased > 0 OR c.delayed > 0 OR coalesce(b.waiting, 0) > 0
      OR ${columns.map((name) => `c.${name} <> coalesce(b.${name}, 0)`).join(' OR ')}
      OR h.total IS DISTINCT FROM h.sampled
    )
    ORDER BY c.queue LIMIT ${sampleSlice}`),
  setBase: change(`
    INSERT INTO metric_base (queue, waiting, ${all}) VALUES (?, ?, ${marks})
    ${orReplace('queue', `waiting, ${all}`)}`),
  // No process writes a minute twice, but the file may be restored to an earlier state.
  write: change(`
    INSERT INTO metric_minute (
      queue, minute, ${all}, ready, leased, delayed, oldest_ready, oldest, handlers
    ) VALUES (?, ?, ${marks}, ?, ?, ?, ?, ?, ?)
    ${orReplace('queue, minute', `${all}, ready, leased, delayed, oldest_ready, oldest, handlers`)}`),
  anyOld: query<unknown>(`
    SELECT 1 FROM metric_minute /*sqlite INDEXED BY metric_minute_by_age */ WHERE minute${byKey} < ? LIMIT 1`),
  forget: change(`
    DELETE FROM metric_minute WHERE ${among(
      'queue, minute',
      `FROM metric_minute /*sqlite INDEXED BY metric_minute_by_age */
      WHERE minute${byKey} < ? LIMIT ${forgetSlice}`,
    )}`),
  forgetBases: gone('metric_base'),
  forgetHandlers: gone('metric_handlers'),
}

interface ClockRow {
  readonly minute: number
  readonly after_queue: number | null
}

/** With the columns of the counters, and what was added to each since the last minute. */
interface ChangedRow extends Readonly<Record<string, unknown>> {
  readonly id: number
  readonly name: string
  readonly total: string | null
  readonly sampled: string | null
}

/** A look without a transaction: in most seconds there is nothing to do. */
export function* isSampleDue(view: View): Steps<boolean> {
  const last = yield* view.one(sql.clock)
  if (last === undefined || last.after_queue !== null || last.minute < latestMinute(view.now))
    return true
  return (yield* view.one(sql.anyOld, oldestKept(view.now))) !== undefined
}

export function nothingToSample(now: number): SampleReport {
  return { minute: null, forgotten: 0, more: false, nextInMs: untilNext(now) }
}

/** Writes down a slice of the minute, then forgets a slice of what is too old. */
export function* sampleMinute(tx: Transaction): Steps<SampleReport> {
  const minute = latestMinute(tx.now)
  const sampled = yield* sample(tx, minute)
  if (sampled === 'partly') {
    return { minute, forgotten: 0, more: true, nextInMs: untilNext(tx.now) }
  }
  const forgotten = yield* forget(tx)
  return {
    minute: sampled === 'wholly' ? minute : null,
    forgotten,
    more: forgotten >= forgetSlice,
    nextInMs: untilNext(tx.now),
  }
}

function* sample(tx: Transaction, minute: number): Steps<'wholly' | 'partly' | 'before'> {
  yield* tx.lock('metrics')
  const last = (yield* tx.one(sql.clock)) ?? { minute: 0, after_queue: null }
  if (last.minute > minute || (last.minute === minute && last.after_queue === null)) return 'before'
  // Queues that an earlier minute did not reach are part of this one.
  const after = last.minute === minute ? last.after_queue : 0
  yield* tx.writeCounts()
  const rows = yield* tx.all(sql.changed, after, minute + minuteMs)
  for (const row of rows) yield* writeMinute(tx, minute, row)
  const lastRow = rows.at(-1)
  const isWhole = rows.length < sampleSlice || lastRow === undefined
  yield* tx.run(sql.setClock, minute, isWhole ? null : lastRow.id)
  tx.wroteRow()
  return isWhole ? 'wholly' : 'partly'
}

function* writeMinute(tx: Transaction, minute: number, row: ChangedRow): Steps<void> {
  const queue = yield* tx.queue(row.name)
  const { ready, leased, delayed, oldestReadyAgeMs } = yield* readStatistics(tx, queue)
  const waiting = ready + leased + delayed
  yield* tx.run(
    sql.write,
    queue.id,
    minute,
    ...columns.map((name) => Number(row[`${name}_since`])),
    ready,
    leased,
    delayed,
    oldestReadyAgeMs,
    yield* oldestAge(tx, queue, { ready, leased }),
    yield* handlersOf(tx, row),
  )
  yield* tx.run(sql.setBase, queue.id, waiting, ...columns.map((name) => Number(row[name])))
}

/** The figures of handlers since the last minute, or null when none has ended. */
function* handlersOf(tx: Transaction, { id, total, sampled }: ChangedRow): Steps<string | null> {
  if (total === null || total === sampled) return null
  const later = decodeHandlers(total)
  const since = handlersSince(later, decodeHandlers(sampled))
  // The longest so far belonged to this minute; the next one looks for its own.
  const next = encodeHandlers(withoutLongest(later))
  yield* tx.run(sql.sampled, next, next, id)
  return encodeHandlers(since)
}

function withoutLongest(figures: HandlerFigures): HandlerFigures {
  const { runs, waits } = figures
  return { ...figures, runs: { ...runs, msMax: 0 }, waits: { ...waits, msMax: 0 } }
}

function* forget(tx: Transaction): Steps<number> {
  const before = oldestKept(tx.now)
  const forgotten =
    Number(yield* tx.changes(sql.forget, before)) + (yield* forgetValues(tx, before, forgetSlice))
  const others =
    Number(yield* tx.changes(sql.forgetBases)) + Number(yield* tx.changes(sql.forgetHandlers))
  if (forgotten + others > 0) tx.wroteRow()
  return forgotten
}

/** Receives that this process has counted in memory. */
export function* addEmptyReceives(
  tx: Transaction,
  counts: ReadonlyMap<string, number>,
): Steps<void> {
  for (const [name, count] of counts) {
    const queue = yield* tx.findQueue(name)
    if (queue !== undefined) tx.count(queue, 'emptyReceives', count)
  }
}

/** Figures that another part of the process has gathered. Those of a deleted queue are dropped. */
export function* addFigures(tx: Transaction, { queues, values = [] }: ReportFigures): Steps<void> {
  yield* addValues(tx, values)
  for (const { queue: name, emptyReceives = 0, handlers } of queues) {
    const queue = yield* tx.findQueue(name)
    if (queue === undefined) continue
    if (emptyReceives > 0) tx.count(queue, 'emptyReceives', emptyReceives)
    if (handlers !== undefined) yield* addToHandlers(tx, queue, handlers)
  }
}

/** The latest minute that has ended. */
function latestMinute(now: number): number {
  return minuteOf(now) - minuteMs
}

function oldestKept(now: number): number {
  return minuteOf(now) - metricsKeptMs
}

function untilNext(now: number): number {
  return minuteOf(now) + minuteMs - now
}
