/** Reads recorded minutes, and the present metrics of all queues. */

import type { Page } from '../../backends/backend.ts'
import type {
  MetricPage,
  QueueCounts,
  QueueMinute,
  QueueSnapshot,
  ReadMinutes,
} from '../../backends/metric-store.ts'
import { countsFrom, queueCounterNames } from '../../core/queue-counters.ts'
import { snakeCase } from '../../core/snake-case.ts'
import { oldestAge } from '../queues/oldest-age.ts'
import { readStatistics } from '../queues/statistics.ts'
import { query, upTo } from '../statements.ts'
import { inTurn, type Steps } from '../steps.ts'
import type { View } from '../transaction.ts'
import { decodeHandlers } from './metric-handlers.ts'

const counterColumns = queueCounterNames.map(snakeCase)

const sql = {
  read: query<MinuteRow>(`
    SELECT * FROM metric_minute WHERE queue = ? AND minute BETWEEN ? AND ? ORDER BY minute`),
  latestBefore: query<{ minute: number | null }>(
    'SELECT max(minute) AS minute FROM metric_minute WHERE queue = ? AND minute < ?',
  ),
  page: query<CountedRow & { readonly name: string }>(`
    SELECT q.name, ${counterColumns.map((name) => `c.${name}`).join(', ')}, h.total AS handlers
    FROM queue q JOIN queue_total c ON c.queue = q.id
      LEFT JOIN metric_handlers h ON h.queue = q.id
    WHERE q.name > ? ORDER BY q.name ${upTo}`),
}

/** With the columns of the counters. */
interface CountedRow extends Readonly<Record<string, unknown>> {
  /** JSON. */
  readonly handlers: string | null
}

interface MinuteRow extends CountedRow {
  readonly minute: number
  readonly ready: number
  readonly leased: number
  readonly delayed: number
  readonly oldest_ready: number | null
  readonly oldest: number | null
}

export function* readMinutes(view: View, request: ReadMinutes): Steps<readonly QueueMinute[]> {
  const { id } = yield* view.queue(request.queue)
  const { to, withLatestBefore = false } = request
  const before = withLatestBefore
    ? (yield* view.one(sql.latestBefore, id, request.from))?.minute
    : undefined
  return (yield* view.all(sql.read, id, before ?? request.from, to)).map((row) => ({
    minute: row.minute,
    ...countsOf(row),
    ready: row.ready,
    leased: row.leased,
    delayed: row.delayed,
    oldestReadyAgeMs: row.oldest_ready,
    oldestAgeMs: row.oldest,
    handlers: handlersOf(row),
  }))
}

export function* readSnapshot(
  view: View,
  { after = '', limit }: MetricPage,
): Steps<Page<QueueSnapshot>> {
  const rows = yield* view.all(sql.page, after, limit + 1)
  const items = yield* inTurn(rows.slice(0, limit), function* (row): Steps<QueueSnapshot> {
    const queue = yield* view.queue(row.name)
    const { ready, leased, delayed, oldestReadyAgeMs } = yield* readStatistics(view, queue)
    const oldestAgeMs = yield* oldestAge(view, queue, { ready, leased })
    const levels = { ready, leased, delayed, oldestReadyAgeMs, oldestAgeMs }
    return { queue: row.name, ...countsOf(row), ...levels, handlers: handlersOf(row) }
  })
  const last = items.at(-1)
  return rows.length > limit && last !== undefined ? { items, next: last.queue } : { items }
}

function countsOf(row: CountedRow): QueueCounts {
  return countsFrom((name) => Number(row[snakeCase(name)]))
}

function handlersOf({ handlers }: CountedRow): QueueSnapshot['handlers'] {
  return handlers === null ? null : decodeHandlers(handlers)
}
