/** Reads jobs: those that live from their messages, those that have finished from history. */

import type { JobAttempt, JobRecord, ReadReceipt, ReceiptFacts } from '../../backends/job-store.ts'
import type { Failure } from '../../core/failure.ts'
import { keptLabels } from '../../core/job-labels.ts'
import type { JobStatus } from '../../core/job-state.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import { spentOnJob } from '../budgets/spending.ts'
import { unitKeyOf } from '../flows/flow-units.ts'
import { isRunning } from '../messages/expiry.ts'
import { delayed, leased } from '../messages/message-rows.ts'
import { query } from '../statements.ts'
import type { Steps } from '../steps.ts'
import type { View } from '../transaction.ts'
import { readFailures } from './attempt-details.ts'
import { decodeDetails } from './job-details.ts'

export const liveColumns = `
  m.sequence AS number, q.name AS queue, m.state, m.token, m.job_type AS type, m.job_owner AS owner,
  m.group_name, m.job AS details, m.receive_count AS attempts, m.sent_at AS created_at, m.leased_at,
  coalesce(m.first_received_at, m.leased_at) AS started_at, m.expires_at,
  coalesce(m.held_until, m.due_at) AS due_at,
  coalesce(m.body, (SELECT b.body FROM message_body b WHERE b.sequence = m.sequence)) AS payload`

const sql = {
  finished: query<FinishedRow>('SELECT * FROM finished_job WHERE number = ?'),
  // A purged queue's messages have no queue until the sweeper records their end.
  live: query<LiveRow>(`
    SELECT ${liveColumns}, d.queue AS discarded
    FROM message m
    LEFT JOIN queue q ON q.generation = m.generation
    LEFT JOIN discarded_generation d ON d.generation = m.generation
    WHERE m.sequence = ? AND m.job_type IS NOT NULL`),
  unit: query<{ unit: number | null }>(
    'SELECT unit FROM message WHERE sequence = ? AND generation = ?',
  ),
  attempts: query<AttemptRow>(`
    SELECT attempt, started_at, ended_at, outcome, error FROM job_attempt
    WHERE number = ? ORDER BY attempt`),
  progress: query<{ progress: number; changed_at: number }>(
    'SELECT progress, changed_at FROM job_progress WHERE number = ?',
  ),
  latestError: query<{ ended_at: number; error: string | null }>(`
    SELECT ended_at, error FROM job_attempt WHERE number = ? ORDER BY attempt DESC LIMIT 1`),
}

export interface LiveRow {
  readonly number: number
  readonly queue: string | null
  readonly discarded: string | null
  readonly state: number
  readonly token: number
  readonly type: string
  readonly owner: string | null
  readonly group_name: string | null
  readonly details: string
  readonly payload: string
  readonly attempts: number
  readonly created_at: number
  readonly leased_at: number
  readonly started_at: number
  readonly expires_at: number | null
  /** When its lease or its delay ends; of no meaning for a job that is ready. */
  readonly due_at: number
}

export interface FinishedRow {
  readonly number: number
  readonly queue: string
  readonly type: string
  readonly status: 'completed' | 'failed' | 'cancelled'
  readonly owner: string | null
  readonly group_name: string | null
  readonly details: string
  readonly payload: string
  readonly result: string | null
  readonly error: string | null
  readonly attempts: number
  readonly created_at: number
  readonly started_at: number | null
  readonly last_started_at: number | null
  readonly finished_at: number
}

export function* readJob(view: View, id: string): Steps<JobRecord | undefined> {
  const number = view.messageIds.sequenceOf(id)
  if (number === undefined) return undefined
  const end = yield* view.one(sql.finished, number)
  if (end !== undefined) return yield* finishedRecord(view, end)
  const row = yield* view.one(sql.live, number)
  return row === undefined ? undefined : yield* liveRecord(view, row)
}

/** Throws `job_not_found`. */
export function* requireJob(view: View, id: string): Steps<JobRecord> {
  const job = yield* readJob(view, id)
  if (job === undefined) throw new MillraceError('job_not_found')
  return job
}

export function* readReceipt(view: View, request: ReadReceipt): Steps<ReceiptFacts | undefined> {
  const queue = yield* view.queue(request.queue)
  const receipt = view.receipts.parse(request.receipt)
  if (receipt === undefined) throw new MillraceError('receipt_invalid')
  if (receipt.queueId !== queue.id) return undefined
  const { sequence } = receipt
  const { unit = null } = (yield* view.one(sql.unit, sequence, queue.generation)) ?? {}
  const key = unit === null ? null : yield* unitKeyOf(view, unit)
  return { id: view.messageIds.of(sequence), unit: key }
}

export function* readAttempts(view: View, id: string): Steps<readonly JobAttempt[]> {
  const number = view.messageIds.sequenceOf(id)
  if (number === undefined) return []
  const failures = yield* readFailures(view, number)
  const ended = (yield* view.all(sql.attempts, number)).map((row) => attemptFromRow(row, failures))
  const end = yield* view.one(sql.finished, number)
  if (end !== undefined) {
    const isLast = ({ attempt }: JobAttempt): boolean => attempt === end.attempts
    // A late completion means that the attempt was not lost.
    if (end.status === 'completed')
      return [...ended.filter((one) => !isLast(one)), lastAttempt(end, failures)]
    const isNoted = ended.some(isLast)
    return isNoted || end.last_started_at === null ? ended : [...ended, lastAttempt(end, failures)]
  }
  const row = yield* view.one(sql.live, number)
  if (row === undefined || statusOf(row) !== 'processing') return ended
  const { attempts: attempt, leased_at: startedAt } = row
  const running = { outcome: 'running', error: null, failure: null } as const
  return [...ended, { attempt, startedAt, endedAt: null, ...running }]
}

interface AttemptRow {
  readonly attempt: number
  readonly started_at: number
  readonly ended_at: number
  readonly outcome: JobAttempt['outcome']
  readonly error: string | null
}

type Failures = ReadonlyMap<number, Failure>

function attemptFromRow(row: AttemptRow, failures: Failures): JobAttempt {
  const { attempt, started_at, ended_at, outcome, error } = row
  const failure = failures.get(attempt) ?? null
  return { attempt, startedAt: started_at, endedAt: ended_at, outcome, error, failure }
}

function lastAttempt(end: FinishedRow, failures: Failures): JobAttempt {
  return {
    attempt: end.attempts,
    startedAt: end.last_started_at ?? end.created_at,
    endedAt: end.finished_at,
    outcome: end.status,
    error: end.error,
    failure: failures.get(end.attempts) ?? null,
  }
}

export function statusOf(row: LiveRow): JobStatus {
  if (row.queue === null) return 'cancelled'
  return isRunning(row) ? 'processing' : 'pending'
}

/** When a job that waits for its time or its retry becomes due. */
function runAtOf(row: LiveRow, now: number): number | null {
  const waits = row.state === delayed || row.state === leased
  return waits && statusOf(row) === 'pending' && row.due_at > now ? row.due_at : null
}

export function* liveRecord(view: View, row: LiveRow): Steps<JobRecord> {
  const reported = yield* view.one(sql.progress, row.number)
  const failure = yield* view.one(sql.latestError, row.number)
  const times = [row.created_at, row.attempts > 0 ? row.leased_at : 0]
  return {
    ...(yield* commonFields(view, row)),
    queue: row.queue ?? row.discarded ?? '',
    status: statusOf(row),
    result: null,
    error: failure?.error ?? null,
    progress: reported?.progress ?? 0,
    startedAt: row.attempts > 0 ? row.started_at : null,
    finishedAt: null,
    runAt: runAtOf(row, view.now),
    expiresAt: row.expires_at,
    updatedAt: Math.max(...times, reported?.changed_at ?? 0, failure?.ended_at ?? 0),
  }
}

export function* finishedRecord(view: View, row: FinishedRow): Steps<JobRecord> {
  const reported = yield* view.one(sql.progress, row.number)
  return {
    ...(yield* commonFields(view, row)),
    queue: row.queue,
    status: row.status,
    result: row.result,
    error: row.error,
    progress: row.status === 'completed' ? 1 : (reported?.progress ?? 0),
    startedAt: row.started_at,
    finishedAt: row.finished_at,
    runAt: null,
    expiresAt: null,
    updatedAt: row.finished_at,
  }
}

type CommonRow = Pick<
  LiveRow,
  'number' | 'type' | 'owner' | 'group_name' | 'details' | 'payload' | 'attempts' | 'created_at'
>

type CommonFields = Omit<
  JobRecord,
  | 'queue'
  | 'status'
  | 'result'
  | 'error'
  | 'progress'
  | 'startedAt'
  | 'finishedAt'
  | 'runAt'
  | 'expiresAt'
  | 'updatedAt'
>

function* commonFields(view: View, row: CommonRow): Steps<CommonFields> {
  const details = decodeDetails(row.details)
  const { max, key, retryOf, backoff } = details
  const id = view.messageIds.of(row.number)
  return {
    id,
    backendId: id,
    type: row.type,
    payload: row.payload,
    attemptsMade: row.attempts,
    maxAttempts: max,
    idempotencyKey: key ?? null,
    owner: row.owner,
    tenant: row.group_name,
    ...keptLabels(details),
    createdAt: row.created_at,
    spent: yield* spentOnJob(view, row.number),
    retryOf: retryOf ?? null,
    backoff: backoff ?? null,
  }
}
