/**
 * Lists jobs, newest first, page by page along the sequence number that live and finished ones share.
 * With a filter a page looks at so many numbers and no more: somebody who owns nothing among a
 * million jobs must not hold up the store to learn it.
 */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import { type JobStatus, jobStatuses } from '../../core/job-state.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import type { Page } from '../backend.ts'
import type { JobRecord, ListJobs } from '../job-store.ts'
import {
  type FinishedRow,
  finishedRecord,
  type LiveRow,
  liveColumns,
  liveRecord,
  statusOf,
} from './job-reading.ts'
import { allRows, getRow, upTo } from './rows.ts'
import type { Session } from './session.ts'

/** Sequence numbers that a page with filters looks at: some tens of milliseconds. */
const numbersPerPage = 50_000

export interface JobListingStatements {
  readonly listLive: StatementSync
  readonly listFinished: StatementSync
  readonly lastNumber: StatementSync
}

export function prepareJobListing(db: DatabaseSync): JobListingStatements {
  return {
    listLive: db.prepare(`
      SELECT ${liveColumns}, NULL AS discarded
      FROM message m INDEXED BY message_job JOIN queue q ON q.generation = m.generation
      WHERE m.generation = ? AND m.job_type IS NOT NULL AND m.sequence < ? AND m.sequence >= ?
        AND (? IS NULL OR m.job_type = ?) AND (? IS NULL OR m.job_owner = ?)
      ORDER BY m.sequence DESC ${upTo}`),
    listFinished: db.prepare(`
      SELECT * FROM finished_job INDEXED BY finished_job_by_queue
      WHERE queue = ? AND status = ? AND number < ? AND number >= ?
        AND (? IS NULL OR type = ?) AND (? IS NULL OR owner = ?)
      ORDER BY number DESC ${upTo}`),
    lastNumber: db.prepare('SELECT last_sequence FROM store'),
  }
}

export function listJobs(session: Session, request: ListJobs): Page<JobRecord> {
  const queue = session.topology.require(request.queue)
  const range = rangeOf(session, request)
  const { status, limit } = request
  const wanted = status === undefined ? jobStatuses : [status]
  const { listLive, listFinished } = session.jobListing
  const found: JobRecord[] = []
  if (wanted.includes('pending') || wanted.includes('processing')) {
    const rows = livingRows(listLive, [queue.generation], request, range, wanted)
    found.push(...rows.map((row) => liveRecord(session, row)))
  }
  for (const one of wanted) {
    if (one === 'pending' || one === 'processing') continue
    const values = [queue.name, one, ...range, ...filtersOf(request), limit + 1]
    const rows = allRows<FinishedRow>(listFinished, ...values)
    found.push(...rows.map((row) => finishedRecord(session, row)))
  }
  found.sort((left, right) => (left.id < right.id ? 1 : -1))
  const items = found.slice(0, limit)
  const last = items.at(-1)
  if (found.length > limit && last !== undefined) return { items, next: last.id }
  // Nothing more was found within reach, but there are older jobs that were not looked at.
  return range[1] > 1 ? { items, next: session.messageIds.of(range[1]) } : { items }
}

/** The highest number that is looked at, plus one, and the lowest. */
type NumberRange = readonly [before: number, from: number]

function rangeOf(session: Session, { after, type, owner, status }: ListJobs): NumberRange {
  const last = getRow<{ last_sequence: number }>(session.jobListing.lastNumber)?.last_sequence ?? 0
  const before = Math.min(numberBefore(session, after), last + 1)
  // Whether a live job runs or waits is not in an index either.
  const passesOver =
    type !== undefined || owner !== undefined || status === 'pending' || status === 'processing'
  return [before, passesOver ? Math.max(1, before - numbersPerPage) : 1]
}

function filtersOf({ type = null, owner = null }: Filters): readonly SQLInputValue[] {
  return [type, type, owner, owner]
}

interface Filters {
  readonly type?: string | null
  readonly owner?: string | null
}

/** Rows read at a time while the status passes over some of them. */
const rowsAtOnce = 200

function livingRows(
  statement: StatementSync,
  values: readonly SQLInputValue[],
  request: ListJobs,
  [before, from]: NumberRange,
  wanted: readonly JobStatus[],
): readonly LiveRow[] {
  const found: LiveRow[] = []
  let next = before
  while (found.length <= request.limit) {
    const filters = filtersOf(request)
    const rows = allRows<LiveRow>(statement, ...values, next, from, ...filters, rowsAtOnce)
    found.push(...rows.filter((row) => wanted.includes(statusOf(row))))
    const last = rows.at(-1)
    if (last === undefined || rows.length < rowsAtOnce) break
    next = last.number
  }
  return found
}

function numberBefore(session: Session, after: string | undefined): number {
  if (after === undefined) return Number.MAX_SAFE_INTEGER
  const number = session.messageIds.sequenceOf(after)
  if (number !== undefined) return number
  const allowed = "the 'next' of an earlier page"
  throw MillraceError.invalid([{ field: 'after', given: 'another text', allowed }])
}
