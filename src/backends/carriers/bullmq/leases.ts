/** Leases of jobs, and the handles that name them. */
import type { RedisQueueBackend } from 'bullmq'
import type { FetchedJob } from './job-content.ts'

export interface LeasedJob {
  readonly job: FetchedJob
  readonly lease: Lease
}

/** What a handle contains. */
export interface Lease {
  readonly id: string
  readonly token: string
  /** How many finished jobs are kept, by the options of the job. */
  readonly keep?: KeepOptions
}

export type Keep = Parameters<RedisQueueBackend['moveToCompletedArgs']>[2]

interface KeepOptions {
  readonly completed?: Keep
  readonly failed?: Keep
}

/** What was fetched with a token. */
export function leasedJob(job: FetchedJob, token: string): LeasedJob {
  const { removeOnComplete: completed, removeOnFail: failed } = job.opts as {
    readonly removeOnComplete?: Keep
    readonly removeOnFail?: Keep
  }
  const keep = {
    ...(completed !== undefined && { completed }),
    ...(failed !== undefined && { failed }),
  }
  const lease = { id: job.id, token, ...(Object.keys(keep).length > 0 && { keep }) }
  return { job, lease }
}

export function handleOf({ id, token, keep }: Lease): string {
  return JSON.stringify(keep === undefined ? [id, token] : [id, token, keep])
}

/** Undefined if it is not a handle of this carrier. */
export function leaseOf(handle: string): Lease | undefined {
  try {
    const [id, token, keep] = JSON.parse(handle) as readonly [unknown, unknown, KeepOptions?]
    if (typeof id !== 'string' || typeof token !== 'string') return undefined
    return { id, token, ...(keep !== undefined && { keep }) }
  } catch {
    return undefined
  }
}

/** Each failed attempt and each lease that ended counts, and this delivery. Releases do not. */
export function receiveCountOf({ attemptsMade, stalledCounter }: FetchedJob): number {
  return attemptsMade + stalledCounter + 1
}
