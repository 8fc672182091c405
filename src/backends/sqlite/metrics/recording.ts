/**
 * Records the metrics of queues for the minute that has just ended. A minute is the difference between the
 * counters now and when they were last recorded. So nothing is counted twice or left out, whichever
 * process does it and however late. A minute in which no process did is missing.
 */

import { type HandlerFigures, handlersSince } from '../../../core/handler-figures.ts'
import { metricsKeptMs, minuteMs, minuteOf } from '../../../core/minutes.ts'
import { queueCounterNames } from '../../../core/queue-counters.ts'
import { snakeCase } from '../../../core/snake-case.ts'
import type { ReportFigures, SampleReport } from '../../metric-store.ts'
import type { Statement } from '../driver/statements.ts'
import { change, query } from '../driver/statements.ts'
import type { StoreTransaction, StoreView } from '../driver/transaction.ts'
import { oldestAge } from '../queues/oldest-age.ts'
import { readStatistics } from '../queues/statistics.ts'
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
    FROM queue_count c JOIN queue q ON q.id = c.queue
      LEFT JOIN metric_base b ON b.queue = c.queue
      LEFT JOIN metric_handlers h ON h.queue = c.queue
    WHERE c.queue > ? AND q.created_at < ? AND (
      c.ready > 0 OR c.leased > 0 OR c.delayed > 0 OR coalesce(b.waiting, 0) > 0
      OR ${columns.map((name) => `c.${name} <> coalesce(b.${name}, 0)`).join(' OR ')}
      OR h.total IS NOT h.sampled
    )
    ORDER BY c.queue LIMIT ${sampleSlice}`),
  setBase: change(`
    INSERT OR REPLACE INTO metric_base (queue, waiting, ${all}) VALUES (?, ?, ${marks})`),
  // No process writes a minute twice, but the file may be restored to an earlier state.
  write: change(`
    INSERT OR REPLACE INTO metric_minute (
      queue, minute, ${all}, ready, leased, delayed, oldest_ready, oldest, handlers
    ) VALUES (?, ?, ${marks}, ?, ?, ?, ?, ?, ?)`),
  anyOld: query<unknown>(`
    SELECT 1 FROM metric_minute INDEXED BY metric_minute_by_age WHERE minute < ? LIMIT 1`),
  forget: change(`
    DELETE FROM metric_minute WHERE (queue, minute) IN (
      SELECT queue, minute FROM metric_minute INDEXED BY metric_minute_by_age
      WHERE minute < ? LIMIT ${forgetSlice}
    )`),
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
export function isSampleDue(view: StoreView): boolean {
  const last = view.one(sql.clock)
  if (last === undefined || last.after_queue !== null || last.minute < latestMinute(view.now))
    return true
  return view.one(sql.anyOld, oldestKept(view.now)) !== undefined
}

export function nothingToSample(now: number): SampleReport {
  return { minute: null, forgotten: 0, more: false, nextInMs: untilNext(now) }
}

/** Writes down a slice of the minute, then forgets a slice of what is too old. */
export function sampleMinute(tx: StoreTransaction): SampleReport {
  const minute = latestMinute(tx.now)
  const sampled = sample(tx, minute)
  if (sampled === 'partly') {
    return { minute, forgotten: 0, more: true, nextInMs: untilNext(tx.now) }
  }
  const forgotten = forget(tx)
  return {
    minute: sampled === 'wholly' ? minute : null,
    forgotten,
    more: forgotten >= forgetSlice,
    nextInMs: untilNext(tx.now),
  }
}

function sample(tx: StoreTransaction, minute: number): 'wholly' | 'partly' | 'before' {
  const last = tx.one(sql.clock) ?? { minute: 0, after_queue: null }
  if (last.minute > minute || (last.minute === minute && last.after_queue === null)) return 'before'
  // Queues that an earlier minute did not reach are part of this one.
  const after = last.minute === minute ? last.after_queue : 0
  tx.writeCounts()
  const rows = tx.all(sql.changed, after, minute + minuteMs)
  for (const row of rows) writeMinute(tx, minute, row)
  const lastRow = rows.at(-1)
  const isWhole = rows.length < sampleSlice || lastRow === undefined
  tx.run(sql.setClock, minute, isWhole ? null : lastRow.id)
  tx.wroteRow()
  return isWhole ? 'wholly' : 'partly'
}

function writeMinute(tx: StoreTransaction, minute: number, row: ChangedRow): void {
  const queue = tx.queue(row.name)
  const { ready, leased, delayed, oldestReadyAgeMs } = readStatistics(tx, queue)
  const waiting = ready + leased + delayed
  tx.run(
    sql.write,
    queue.id,
    minute,
    ...columns.map((name) => Number(row[`${name}_since`])),
    ready,
    leased,
    delayed,
    oldestReadyAgeMs,
    oldestAge(tx, queue, { ready, leased }),
    handlersOf(tx, row),
  )
  tx.run(sql.setBase, queue.id, waiting, ...columns.map((name) => Number(row[name])))
}

/** The figures of handlers since the last minute, or null when none has ended. */
function handlersOf(tx: StoreTransaction, { id, total, sampled }: ChangedRow): string | null {
  if (total === null || total === sampled) return null
  const later = decodeHandlers(total)
  const since = handlersSince(later, decodeHandlers(sampled))
  // The longest so far belonged to this minute; the next one looks for its own.
  const next = encodeHandlers(withoutLongest(later))
  tx.run(sql.sampled, next, next, id)
  return encodeHandlers(since)
}

function withoutLongest(figures: HandlerFigures): HandlerFigures {
  const { runs, waits } = figures
  return { ...figures, runs: { ...runs, msMax: 0 }, waits: { ...waits, msMax: 0 } }
}

function forget(tx: StoreTransaction): number {
  const before = oldestKept(tx.now)
  const forgotten = Number(tx.changes(sql.forget, before)) + forgetValues(tx, before, forgetSlice)
  const others = Number(tx.changes(sql.forgetBases)) + Number(tx.changes(sql.forgetHandlers))
  if (forgotten + others > 0) tx.wroteRow()
  return forgotten
}

/** Receives that this process has counted in memory. */
export function addEmptyReceives(tx: StoreTransaction, counts: ReadonlyMap<string, number>): void {
  for (const [name, count] of counts) {
    const queue = tx.findQueue(name)
    if (queue !== undefined) tx.count(queue, 'emptyReceives', count)
  }
}

/** Figures that another part of the process has gathered. Those of a deleted queue are dropped. */
export function addFigures(tx: StoreTransaction, { queues, values = [] }: ReportFigures): void {
  addValues(tx, values)
  for (const { queue: name, emptyReceives = 0, handlers } of queues) {
    const queue = tx.findQueue(name)
    if (queue === undefined) continue
    if (emptyReceives > 0) tx.count(queue, 'emptyReceives', emptyReceives)
    if (handlers !== undefined) addToHandlers(tx, queue, handlers)
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
