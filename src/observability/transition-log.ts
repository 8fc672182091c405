/** Logs one line per transition of a job or message, never its content. */
import { type Failure, failureText } from '../core/failure.ts'
import type { LogFields, Logger } from './logger.ts'

export interface Transition {
  readonly event: TransitionName
  /** The key of the queue. */
  readonly queue: string
  /** Null for a message that is not a job. */
  readonly type: string | null
  readonly id: string
  readonly attempt: number
  readonly maxAttempts: number | null
  readonly traceId: string | null
  /** Time since the start of the attempt; 0 at the start. */
  readonly durationMs: number
  /** At the start of the first attempt: time since the send. Otherwise null. */
  readonly waitedMs: number | null
  /** A safe summary of the error, if any. */
  readonly error: string | null
  /** The error with its stack and causes, without what the contract hides. */
  readonly failure: Failure | null
  /** The error itself, as it was thrown; it may quote the payload. Undefined if there was none. */
  readonly cause: unknown
  /** Time until the retry. */
  readonly retryInMs: number | null
}

/**
 * `lost`: the lease ended before the work was settled, so another worker gets the work. `refused`: the work
 * does not match its contract or tier, and was dead-lettered without a call to the handler.
 */
export type TransitionName =
  | 'started'
  | 'completed'
  | 'retried'
  | 'failed'
  | 'released'
  | 'cancelled'
  | 'lost'
  | 'refused'

interface Line {
  readonly level: keyof Logger
  /** The new status of the job. */
  readonly status: string
}

const lines: Readonly<Record<TransitionName, Line>> = {
  started: { level: 'info', status: 'processing' },
  completed: { level: 'info', status: 'completed' },
  retried: { level: 'warn', status: 'pending' },
  failed: { level: 'error', status: 'failed' },
  released: { level: 'info', status: 'pending' },
  cancelled: { level: 'info', status: 'cancelled' },
  lost: { level: 'warn', status: 'unknown' },
  refused: { level: 'error', status: 'failed' },
}

export function logTransition(log: Logger, transition: Transition): void {
  const { event, durationMs, error, failure, retryInMs } = transition
  const { level, status } = lines[event]
  const noun = transition.type === null ? 'message' : 'job'
  log[level](
    {
      ...factFields(transition),
      status,
      outcome: event,
      ...(event !== 'started' && { duration_ms: Math.round(durationMs * 10) / 10 }),
      ...(error !== null && { error }),
      ...(failure !== null && failureFields(failure)),
      ...(retryInMs !== null && { retry_in_ms: retryInMs }),
    },
    `${noun} ${event}`,
  )
}

function failureFields(failure: Failure): LogFields {
  const { name: error_name, code: error_code } = failure
  const error_stack = failureText(failure)
  return { error_name, ...(error_code !== undefined && { error_code }), error_stack }
}

export type TransitionFacts = Pick<
  Transition,
  'queue' | 'type' | 'id' | 'attempt' | 'maxAttempts' | 'traceId'
>

export function factFields(facts: TransitionFacts): LogFields {
  const { queue, type, id, attempt, maxAttempts, traceId } = facts
  return {
    queue,
    ...(type !== null && { type }),
    id,
    attempt,
    ...(maxAttempts !== null && { max_attempts: maxAttempts }),
    ...(traceId !== null && { trace_id: traceId }),
  }
}

/** Returns a logger that adds these fields to every line. */
export function logWith(log: Logger, facts: LogFields): Logger {
  return {
    debug: (fields, message) => log.debug({ ...facts, ...fields }, message),
    info: (fields, message) => log.info({ ...facts, ...fields }, message),
    warn: (fields, message) => log.warn({ ...facts, ...fields }, message),
    error: (fields, message) => log.error({ ...facts, ...fields }, message),
  }
}

export interface EnqueuedFacts {
  readonly queue: string
  readonly type: string | undefined
  readonly id: string
  /** Created, duplicate or coalesced. */
  readonly status: string
  readonly traceId: string | undefined
}

export function logEnqueued(log: Logger, facts: EnqueuedFacts): void {
  const { queue, type, id, status: outcome, traceId: trace_id } = facts
  const traced = trace_id === undefined ? {} : { trace_id }
  log.info({ queue, type, id, status: 'pending', outcome, ...traced }, 'job enqueued')
}
