/** Jobs that may have crashed their worker. */
import type { Delivery } from '../backends/backend.ts'

/**
 * A job on its last attempt whose previous attempt may have crashed its worker. It runs alone, so that it
 * cannot take other jobs down with it. The others are released, and then run alone too.
 */
export function isSuspect({ job }: Delivery): boolean {
  return job?.lostBefore === true && job.maxAttempts > 1 && job.attempt >= job.maxAttempts
}
