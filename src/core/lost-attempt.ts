/**
 * An attempt of a job whose lease ended before the attempt was settled: its process was killed, or could not
 * reach the store.
 */
export interface LostAttempt {
  /** The queue's name on the backend. */
  readonly queue: string
  readonly type: string
  /** Of the job. */
  readonly id: string
  readonly attempt: number
  readonly maxAttempts: number
  readonly traceId: string | null
  /** Of the lease that ended. */
  readonly receipt: string
  /** From the claim to the end of the lease. */
  readonly durationMs: number
  readonly error: string
  /** Whether it was the last attempt, so that the job has failed. */
  readonly isLast: boolean
}

export type AttemptLostListener = (lost: LostAttempt) => void
