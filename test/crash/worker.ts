/** What the test and its worker processes agree on. */
export interface WorkerArgument {
  readonly file: string
}

export const jobQueue = 'jobs'
/** One message here for each effect that a job had. */
export const effectQueue = 'effects'
/** Short, so that what a killed worker held is soon tried again. */
export const leaseMs = 1_000
