/**
 * The handler context that works in any app. Handlers that are declared with their job type get this one: the
 * queues of the app are not known there, so it has neither `send` nor `enqueue`.
 */
import type { KeptLabels } from '../core/job-labels.ts'
import type { Logger } from '../observability/logger.ts'

export interface JobContext extends KeptLabels {
  /** The id of the job, or of the message if it is not a job. */
  readonly id: string
  /** The key of the queue. */
  readonly queue: string
  /** The job type; null for a message that is not a job. */
  readonly type: string | null
  /** The payload that the handler is called with, for middleware. */
  readonly payload: unknown
  readonly owner: string | null
  readonly tenant: string | null
  /** 1 for the first attempt. */
  readonly attempt: number
  /**
   * The number of attempts before the job fails or the message is dead-lettered. Null if there is no limit.
   */
  readonly maxAttempts: number | null
  /** Rises with every lease. Compare it in your own writes to refuse a worker whose lease has expired. */
  readonly token: number
  /** Aborted with an `AbortReason` when the handler should stop. */
  readonly signal: AbortSignal
  /** Logs with the queue, type, id, attempt and trace on every line. */
  readonly log: Logger

  /** Reports the progress of the job, 0 to 1. */
  progress(fraction: number): Promise<void>
  /** Adds to a budget, to the cost of the job and to that of its flow at once, even if the job then fails. */
  spend(budget: string, amount: number): Promise<void>
}
