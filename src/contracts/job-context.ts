/**
 * What a handler can know and do in any app. Handlers that are declared with their job type get this: the queues of
 * the app are not known there, so it has neither `send` nor `enqueue`.
 */
import type { KeptLabels } from '../core/job-labels.ts'
import type { Logger } from '../observability/logger.ts'

export interface JobContext extends KeptLabels {
  /** Of the job, or of the message. */
  readonly id: string
  /** The key of the queue. */
  readonly queue: string
  /** The job type; null for a message that is no job. */
  readonly type: string | null
  /** What the handler is given, for middleware. */
  readonly payload: unknown
  readonly owner: string | null
  readonly tenant: string | null
  /** 1 for the first. */
  readonly attempt: number
  /** After so many attempts it is over; null when nothing ends it. */
  readonly maxAttempts: number | null
  /** Rises with every lease: compare it in your own writes to keep out a worker that came late. */
  readonly token: number
  /** Aborted with an `AbortReason` when the handler should stop. */
  readonly signal: AbortSignal
  /** Writes lines that carry queue, type, id, attempt and trace. */
  readonly log: Logger

  /** Says how far the job is, 0 to 1. */
  progress(fraction: number): Promise<void>
  /** Reports what was spent, at once and whatever becomes of the job. */
  spend(budget: string, amount: number): Promise<void>
}
