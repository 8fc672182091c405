/** One line of the log per transition of a job or message: facts about it, never what is in it. */
import type { LogFields, Logger } from './logger.ts'

export interface Transition {
  readonly event: TransitionName
  /** The key of the queue. */
  readonly queue: string
  /** Null for a message that is no job. */
  readonly type: string | null
  readonly id: string
  readonly attempt: number
  readonly maxAttempts: number | null
  readonly traceId: string | null
  /** Since the attempt began; 0 when it begins. */
  readonly durationMs: number
  /** Since it was sent, when its first attempt begins; null at every other time. */
  readonly waitedMs: number | null
  /** A safe summary, when something went wrong. */
  readonly error: string | null
  /** When it will be tried again. */
  readonly retryInMs: number | null
}

/**
 * `lost`: the lease ended before the work was settled, so somebody else has it or will. `refused`: it
 * does not fit its contract or its tier, and was dead-lettered without having met a handler.
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
  /** The status that the job has from then on. */
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
  const { event, durationMs, error, retryInMs } = transition
  const { level, status } = lines[event]
  const noun = transition.type === null ? 'message' : 'job'
  log[level](
    {
      ...factFields(transition),
      status,
      outcome: event,
      ...(event !== 'started' && { duration_ms: Math.round(durationMs * 10) / 10 }),
      ...(error !== null && { error }),
      ...(retryInMs !== null && { retry_in_ms: retryInMs }),
    },
    `${noun} ${event}`,
  )
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

/** The same logger with facts on every line. */
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
