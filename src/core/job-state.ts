/** The states of a tracked job, and which may follow which. The drawing in docs/jobs.md is made from it. */
export type JobStatus = 'pending' | 'processing' | FinishedJobStatus

export type FinishedJobStatus = 'completed' | 'failed' | 'cancelled'

/** A finished job stays as it is: trying a failed job again makes a new one. */
export const jobTransitions: Readonly<Record<JobStatus, readonly JobStatus[]>> = {
  pending: ['processing', 'failed', 'cancelled'],
  processing: ['pending', 'completed', 'failed', 'cancelled'],
  completed: [],
  failed: [],
  cancelled: [],
}

export const jobStatuses: readonly JobStatus[] = Object.keys(jobTransitions) as JobStatus[]

export function canBecome(from: JobStatus, to: JobStatus): boolean {
  return jobTransitions[from].includes(to)
}

export function isFinished(status: JobStatus): status is FinishedJobStatus {
  return jobTransitions[status].length === 0
}
