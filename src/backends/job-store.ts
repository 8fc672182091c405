/**
 * Tracked jobs: the part of a backend that remembers what became of a message. A job is tracked where
 * its message changes state, so it does not matter which program receives and settles it.
 */
import type { BackoffPolicy } from '../core/backoff.ts'
import type { ErrorDetails, Failure } from '../core/failure.ts'
import type { JobLabels, KeptLabels } from '../core/job-labels.ts'
import type { JobStatus } from '../core/job-state.ts'
import type { LogLevel, LogLine } from '../core/log-line.ts'
import type { NewMessage, SealedContent } from '../core/message.ts'
import type { MillraceError } from '../core/millrace-error.ts'
import type { Spending, Spent } from './budget-store.ts'
import type { LeaseRefusal, Page, UnitKey } from './stored-message.ts'

export type { ErrorDetails, Failure, LogLevel, LogLine }

export interface JobStore {
  /** Stores all jobs or none; the first refusal rejects the call. */
  enqueue(request: EnqueueJobs): Promise<readonly EnqueuedJob[]>
  /**
   * Stores jobs in a transaction that the caller has begun, on its own connection to the same store. They
   * exist once the caller commits. Waiting receives are woken soon after. An embedded store has stored them,
   * or has thrown, when this returns. Rejects with `unsupported` where the backend has no
   * `callerTransactions`.
   */
  enqueueWithin(request: EnqueueWithin): Promise<readonly EnqueuedJob[]>
  /** Undefined when the job does not exist or was removed. */
  read(request: JobId): Promise<JobRecord | undefined>
  /** Newest first. With filters a page may be short, or empty, and still have a `next`. */
  list(request: ListJobs): Promise<Page<JobRecord>>
  /** Ends a job that has not finished; the next extension of a running handler reports it. */
  cancel(request: JobId): Promise<JobRecord>
  /** Enqueues a failed or cancelled job once more, as a new job. */
  retry(request: RetryJob): Promise<EnqueuedJob>
  /**
   * Lets a job that waits be due after this delay, counted from now, or at this time; `promote` lets it be
   * due now. Its limit to wait counts from then on. Rejects with `job_running` while it is being run, and
   * with `job_finished` after that. A FIFO queue has no delays per job, but its jobs can be promoted.
   */
  reschedule(request: RescheduleJob): Promise<JobRecord>
  promote(request: JobId): Promise<JobRecord>
  /** How each attempt ended, oldest first. */
  attempts(request: JobId): Promise<readonly JobAttempt[]>
  /** The lines that its handlers have logged, in order. */
  logs(request: JobId): Promise<readonly JobLogLine[]>
  /**
   * Jobs that wait or run for longer than they should, the oldest first. Those that a kill switch or a
   * ceiling keeps waiting are not among them. The search is short, however full the queue is.
   */
  stuck(request: FindStuck): Promise<readonly StuckJob[]>
  /** Fenced like a settlement: only the holder of the lease reports. */
  reportProgress(request: ReportProgress): Promise<ProgressResult>
  /**
   * Which job a receipt is for; undefined for a receipt that this queue cannot have given out. A receipt is
   * for one job for ever, whatever became of its lease.
   */
  readReceipt(request: ReadReceipt): Promise<ReceiptFacts | undefined>
}

export interface JobId {
  readonly id: string
}

export interface RetryJob extends JobId, Pick<NewMessage, 'systemAttributes'> {}

export interface RescheduleJob extends JobId {
  readonly delayMs?: number
  /** Instead of a delay, in milliseconds since 1970. */
  readonly runAt?: number
}

export interface NewJob extends JobLabels, Pick<NewMessage, 'attributes' | 'systemAttributes'> {
  readonly type: string
  /** JSON. */
  readonly payload: string
  /** Default: the receives after which the queue dead-letters a message, or 3. */
  readonly maxAttempts?: number
  readonly delayMs?: number
  /** The time at which it is due, instead of a delay; in milliseconds since 1970, by the clock of the store. */
  readonly runAt?: number
  /** How long after it is due it fails, if it still waits then. Default: never. */
  readonly expiresAfterMs?: number
  readonly owner?: string
  /** The group of its message. Required on FIFO queues, where jobs of one group run one after the other. */
  readonly tenant?: string
  readonly deduplicationId?: string
  /** At most one of `idempotency`, `throttle` and `debounce`. */
  readonly idempotency?: Idempotency
  readonly throttle?: Throttle
  /** Takes the place of `delayMs`. Not on FIFO queues. */
  readonly debounce?: Debounce
  /** How long to wait between attempts. Default: the worker decides. */
  readonly backoff?: BackoffPolicy
  /** Set if the payload is sealed. */
  readonly sealed?: SealedContent
}

export interface Idempotency {
  /** Unique per queue, type and owner. */
  readonly key: string
  /** How long the key is remembered, whatever becomes of the job. Default: a day. */
  readonly lifetimeMs?: number
  /** Returns the key's job if it still waits, instead of comparing payloads. */
  readonly coalesce?: boolean
}

/** The first job of a key is stored. Later ones return it until the window is over, whatever became of it. */
export interface Throttle {
  /** Unique per queue, type and owner. */
  readonly key: string
  /** From the first job on. */
  readonly windowMs: number
}

/**
 * While the job of a key has not started, a later one replaces its payload and options, and it waits again. It
 * keeps its id, its place and the time of its creation.
 */
export interface Debounce {
  /** Unique per queue, type and owner. */
  readonly key: string
  /** How long the job waits after the latest call. */
  readonly windowMs: number
  /** How long it waits at most after the first call. */
  readonly maxWaitMs?: number
}

export interface EnqueueJobs {
  readonly queue: string
  readonly jobs: readonly NewJob[]
}

export interface EnqueueWithin extends EnqueueJobs {
  /** The caller's connection, in the form of the store's driver. */
  readonly transaction: object
}

export interface EnqueuedJob {
  /**
   * `duplicate`: the idempotency key was used before. `coalesced`: the key's job still waits, or its throttle
   * is not over.
   */
  readonly status: 'created' | 'duplicate' | 'coalesced'
  readonly id: string
}

/** What a handler receives with its job. */
export interface DeliveredJob extends KeptLabels {
  readonly id: string
  readonly type: string
  /** 1 for the first. */
  readonly attempt: number
  readonly maxAttempts: number
  /** The attempt before this one was never settled: it may have crashed its worker. */
  readonly lostBefore: boolean
  readonly owner: string | null
  readonly backoff: BackoffPolicy | null
}

export interface JobRecord extends KeptLabels {
  readonly id: string
  /** The id of its message on the backend; the same where one store keeps both. */
  readonly backendId: string
  readonly queue: string
  readonly type: string
  readonly status: JobStatus
  readonly payload: string
  readonly result: string | null
  /** A safe summary of the latest failure. */
  readonly error: string | null
  readonly attemptsMade: number
  readonly maxAttempts: number
  readonly idempotencyKey: string | null
  readonly owner: string | null
  readonly tenant: string | null
  readonly backoff: BackoffPolicy | null
  /** 0 to 1, as last reported. */
  readonly progress: number
  /** When it becomes due: after its delay, or for its retry. Null if it is due, runs or has finished. */
  readonly runAt: number | null
  /** When it fails, if it still waits then. Null without a limit, and for a finished job. */
  readonly expiresAt: number | null
  readonly createdAt: number
  readonly startedAt: number | null
  readonly finishedAt: number | null
  readonly updatedAt: number
  /** What all its attempts have spent, by budget. */
  readonly spent: Spent
  /** The failed or cancelled job that this one repeats. */
  readonly retryOf: string | null
}

export interface ListJobs {
  readonly queue: string
  readonly status?: JobStatus
  readonly type?: string
  readonly owner?: string
  readonly after?: string
  readonly limit: number
}

export interface JobAttempt {
  readonly attempt: number
  readonly startedAt: number
  readonly endedAt: number | null
  readonly outcome: 'running' | 'completed' | 'retried' | 'lapsed' | 'failed' | 'cancelled'
  /** A safe summary of why it failed. */
  readonly error: string | null
  /** The error with its stack and causes, cleaned; null if no error was recorded. */
  readonly failure: Failure | null
}

export interface JobLogLine extends LogLine {
  readonly attempt: number
}

export interface FindStuck {
  readonly queue: string
  /** `pending`: could be claimed, and is not. `processing`: leased by one worker all the time. */
  readonly status: 'pending' | 'processing'
  readonly olderThanMs: number
  readonly limit: number
  /** Names of kill switches that the caller's own environment has on. */
  readonly heldNames?: readonly string[]
}

export interface StuckJob {
  readonly id: string
  readonly type: string
  /** Since when it could have been claimed, or since when it has been held. */
  readonly since: number
}

export interface ReportProgress {
  readonly queue: string
  readonly receipt: string
  /** 0 to 1. */
  readonly progress: number
  /** Lines that the handler has logged so far and that are not stored yet. */
  readonly logs?: readonly LogLine[]
  /** Amounts that were spent on the job since the last report. */
  readonly spent?: readonly Spending[]
}

export interface ReadReceipt {
  readonly queue: string
  readonly receipt: string
}

export interface ReceiptFacts {
  /** The id of the job. */
  readonly id: string
  /** The unit of a flow that the job works on, while it is not finished. */
  readonly unit: UnitKey | null
}

export type ProgressResult =
  | { readonly status: 'noted' }
  | { readonly status: LeaseRefusal }
  | { readonly status: 'refused'; readonly error: MillraceError }
