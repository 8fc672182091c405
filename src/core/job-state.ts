/**
 * The states of a tracked job and the only ways between them. What is finished stays as it is: trying
 * a failed job again makes a new one.
 */
export type JobStatus = 'pending' | 'processing' | FinishedJobStatus

export type FinishedJobStatus = 'completed' | 'failed' | 'cancelled'

export const jobStatuses: readonly JobStatus[] = [
  'pending',
  'processing',
  'completed',
  'failed',
  'cancelled',
]

export interface JobTransition {
  readonly from: JobStatus | 'new'
  readonly event: string
  readonly to: JobStatus
}

export const jobTransitions: readonly JobTransition[] = [
  { from: 'new', event: 'enqueue', to: 'pending' },
  { from: 'pending', event: 'claim', to: 'processing' },
  { from: 'processing', event: 'retry, release, or the lease lapses', to: 'pending' },
  { from: 'processing', event: 'complete', to: 'completed' },
  { from: 'processing', event: 'fail, or the last attempt ends without success', to: 'failed' },
  { from: 'pending', event: 'its attempts are used up, or its retention ends', to: 'failed' },
  { from: 'pending', event: 'cancel, purge, or the queue is deleted', to: 'cancelled' },
  { from: 'processing', event: 'cancel, purge, or the queue is deleted', to: 'cancelled' },
]

export function isFinished(status: JobStatus): status is FinishedJobStatus {
  return status !== 'pending' && status !== 'processing'
}
