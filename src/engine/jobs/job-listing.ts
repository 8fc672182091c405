/**
 * Lists jobs, newest first, page by page along the sequence number that live and finished ones share.
 * With a filter, a page reads a bounded range of numbers: a search for an owner without jobs, among a
 * million jobs, must not block the store.
 */

import type { Page } from '../../backends/backend.ts'
import type { JobRecord, ListJobs } from '../../backends/job-store.ts'
import { isFinished, type JobStatus, jobStatuses } from '../../core/job-state.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import { blocked, delayed, leased, unleasedToken } from '../messages/message-rows.ts'
import type { Queue } from '../queues/queue.ts'
import type { Value } from '../statements.ts'
import { type Query, query, upTo } from '../statements.ts'
import { gathered, inTurn, type Steps } from '../steps.ts'
import type { View } from '../transaction.ts'
import {
  type FinishedRow,
  finishedRecord,
  type LiveRow,
  liveColumns,
  liveRecord,
  statusOf,
} from './job-reading.ts'

/** Sequence numbers that a page with filters looks at: some tens of milliseconds. */
const numbersPerPage = 50_000

/** Up to this many jobs of a state that are not ready are sorted here; more are searched by number. */
const unreadyMax = 2_000

const live = (index: string, where: string): Query<LiveRow> =>
  query(`
    SELECT ${liveColumns}, NULL AS discarded
    FROM message m ${index} /*sqlite CROSS */ JOIN queue q ON q.generation = m.generation
    WHERE m.generation = ? AND ${where} AND m.job_type IS NOT NULL
      AND (CAST(? AS TEXT) IS NULL OR m.job_type = ?) AND (CAST(? AS TEXT) IS NULL OR m.job_owner = ?)
    ORDER BY m.sequence DESC ${upTo}`)
const inRange = 'm.sequence < ? AND m.sequence >= ?'
const isProcessing = `m.state = ${leased} AND m.token <> ${unleasedToken}`

const sql = {
  ready: live('/*sqlite INDEXED BY message_ready */', `m.state = 0 AND ${inRange}`),
  unreadyNumbers: query<{ sequence: number }>(`
    SELECT sequence FROM message /*sqlite INDEXED BY message_due */
    WHERE generation = ? AND state = ? AND state > 0 LIMIT ${unreadyMax + 1}`),
  live: live('/*sqlite NOT INDEXED */', 'm.sequence = ?'),
  processing: live('/*sqlite NOT INDEXED */', `${inRange} AND ${isProcessing}`),
  waiting: live('/*sqlite NOT INDEXED */', `${inRange} AND m.state > 0 AND NOT (${isProcessing})`),
  finished: query<FinishedRow>(`
    SELECT * FROM finished_job /*sqlite INDEXED BY finished_job_by_queue */
    WHERE queue = ? AND status = ? AND number < ? AND number >= ?
      AND (CAST(? AS TEXT) IS NULL OR type = ?) AND (CAST(? AS TEXT) IS NULL OR owner = ?)
    ORDER BY number DESC ${upTo}`),
}

export function* listJobs(view: View, request: ListJobs): Steps<Page<JobRecord>> {
  const queue = yield* view.queue(request.queue)
  const { status, limit } = request
  const wanted = status === undefined ? jobStatuses : [status]
  const wantsLive = wanted.includes('pending') || wanted.includes('processing')
  const unready = wantsLive ? yield* unreadyNumbers(view, queue, wanted) : []
  const search: Search = {
    ...{ view, queue, wanted, limit, filters: filtersOf(request) },
    range: yield* rangeOf(view, request, unready === undefined),
  }
  const others = newestFirst([
    ...(wanted.includes('pending') ? yield* readyJobs(search) : []),
    ...(yield* gathered(wanted.filter(isFinished), (one) => finishedJobs(search, one))),
  ])
  const found = newestFirst([
    ...others,
    ...(unready === undefined
      ? yield* searchUnready(search, others[limit])
      : yield* pickUnready(search, unready)),
  ])
  const items = found.slice(0, limit)
  const last = items.at(-1)
  if (found.length > limit && last !== undefined) return { items, next: last.id }
  const [, from] = search.range
  // Nothing more was found in the range, but there are older jobs.
  return from > 1 ? { items, next: view.messageIds.of(from) } : { items }
}

interface Search {
  readonly view: View
  readonly queue: Queue
  readonly wanted: readonly JobStatus[]
  readonly limit: number
  readonly filters: readonly Value[]
  readonly range: NumberRange
}

function* readyJobs({ view, queue, range, filters, limit }: Search): Steps<readonly JobRecord[]> {
  const values = [queue.generation, ...range, ...filters, limit + 1]
  const rows = yield* view.all(sql.ready, ...values)
  return yield* inTurn(rows, (row) => liveRecord(view, row))
}

function newestFirst(jobs: JobRecord[]): readonly JobRecord[] {
  return jobs.sort((left, right) => (left.id < right.id ? 1 : -1))
}

/** Jobs of a queue that are leased, delayed or blocked, as far as wanted; undefined if there are very many. */
function* unreadyNumbers(
  view: View,
  queue: Queue,
  wanted: readonly JobStatus[],
): Steps<readonly number[] | undefined> {
  const states = wanted.includes('pending') ? [leased, delayed, blocked] : [leased]
  if (states.includes(delayed) && (yield* view.counts(queue)).delayed > unreadyMax) {
    return undefined
  }
  const found = yield* inTurn(states, (state) =>
    view.all(sql.unreadyNumbers, queue.generation, state),
  )
  if (found.some((rows) => rows.length > unreadyMax)) return undefined
  return found.flat().map(({ sequence }) => sequence)
}

/** Searches the range, down to the last of the other jobs on the page: older ones are not shown. */
function* searchUnready(search: Search, last: JobRecord | undefined): Steps<readonly JobRecord[]> {
  const { view, queue, range, filters, wanted, limit } = search
  const [before, from] = range
  const lowest = last === undefined ? from : (view.messageIds.sequenceOf(last.id) ?? from)
  const values = [queue.generation, before, lowest, ...filters, limit + 1]
  const rows = [
    ...(wanted.includes('pending') ? yield* view.all(sql.waiting, ...values) : []),
    ...(wanted.includes('processing') ? yield* view.all(sql.processing, ...values) : []),
  ]
  return yield* inTurn(rows, (row) => liveRecord(view, row))
}

function* pickUnready(search: Search, numbers: readonly number[]): Steps<readonly JobRecord[]> {
  const { view, queue, range, filters, wanted, limit } = search
  const [before, from] = range
  const isWanted = (row: LiveRow): boolean => wanted.includes(statusOf(row))
  const found: JobRecord[] = []
  for (const number of numbers.toSorted((left, right) => right - left)) {
    if (number >= before || number < from) continue
    const row = yield* view.one(sql.live, queue.generation, number, ...filters, 1)
    if (row !== undefined && isWanted(row)) found.push(yield* liveRecord(view, row))
    if (found.length > limit) break
  }
  return found
}

function* finishedJobs(
  { view, queue, range, filters, limit }: Search,
  status: JobStatus,
): Steps<readonly JobRecord[]> {
  const values = [queue.name, status, ...range, ...filters, limit + 1]
  const rows = yield* view.all(sql.finished, ...values)
  return yield* inTurn(rows, (row) => finishedRecord(view, row))
}

/** The highest number that is searched, plus one, and the lowest. */
type NumberRange = readonly [before: number, from: number]

function* rangeOf(
  view: View,
  { after, type, owner }: ListJobs,
  hasManyUnready: boolean,
): Steps<NumberRange> {
  const last = yield* view.lastSequence()
  const before = Math.min(numberBefore(view, after), last + 1)
  const passesOver = type !== undefined || owner !== undefined || hasManyUnready
  return [before, passesOver ? Math.max(1, before - numbersPerPage) : 1]
}

function filtersOf({ type = null, owner = null }: Filters): readonly Value[] {
  return [type, type, owner, owner]
}

interface Filters {
  readonly type?: string | null
  readonly owner?: string | null
}

function numberBefore(view: View, after: string | undefined): number {
  if (after === undefined) return Number.MAX_SAFE_INTEGER
  const number = view.messageIds.sequenceOf(after)
  if (number !== undefined) return number
  const allowed = "the 'next' of an earlier page"
  throw MillraceError.invalid([{ field: 'after', given: 'another text', allowed }])
}
