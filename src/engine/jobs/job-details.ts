/** The options of a job, stored as JSON beside its message and its history. */

import type { DeliveredJob, NewJob } from '../../backends/job-store.ts'
import type { BackoffPolicy } from '../../core/backoff.ts'
import { givenLabels, hasLabels, type JobLabels, keptLabels } from '../../core/job-labels.ts'

export interface JobDetails extends JobLabels {
  readonly type: string
  readonly max: number
  readonly owner?: string
  readonly key?: string
  readonly retryOf?: string
  readonly backoff?: BackoffPolicy
  /** `expiresAfterMs` of a job that has one. */
  readonly expires?: number
}

/** Jobs that are enqueued together often have equal options, and share one text. */
let latest: Latest | undefined

interface Latest extends Pick<JobDetails, 'type' | 'max'> {
  readonly owner: string | undefined
  readonly expires: number | undefined
  readonly text: string
}

export function encodeDetails(job: NewJob, max: number, retryOf?: string): string {
  const { type, owner, expiresAfterMs: expires } = job
  if (!isBrief(job, retryOf)) return encodeFully(job, max, retryOf)
  const isLatest =
    latest?.type === type &&
    latest.max === max &&
    latest.owner === owner &&
    latest.expires === expires
  if (latest !== undefined && isLatest) return latest.text
  const text = encodeFully(job, max, retryOf)
  latest = { type, max, owner, expires, text }
  return text
}

function isBrief(job: NewJob, retryOf: string | undefined): boolean {
  return (
    retryOf === undefined &&
    !hasLabels(job) &&
    job.idempotency === undefined &&
    job.backoff === undefined
  )
}

function encodeFully(job: NewJob, max: number, retryOf: string | undefined): string {
  const { type, owner, idempotency, backoff, expiresAfterMs: expires } = job
  // Undefined members are left out of the JSON.
  return JSON.stringify({
    type,
    max,
    owner,
    ...givenLabels(job),
    key: idempotency?.key,
    retryOf,
    backoff,
    expires,
  })
}

let latestDecoded: { readonly text: string; readonly details: JobDetails } | undefined

export function decodeDetails(text: string): JobDetails {
  if (latestDecoded?.text !== text) latestDecoded = { text, details: JSON.parse(text) }
  return latestDecoded.details
}

export interface DeliveredAttempt {
  readonly id: string
  readonly attempt: number
  /** The attempt before this one ended because its lease lapsed. */
  readonly lostBefore: boolean
}

export function deliveredJob(text: string, delivered: DeliveredAttempt): DeliveredJob {
  const details = decodeDetails(text)
  const { type, max, owner, backoff } = details
  const { id, attempt, lostBefore } = delivered
  return {
    // First: spreading into an object that has fields already is slow.
    ...keptLabels(details),
    id,
    type,
    attempt,
    maxAttempts: max,
    lostBefore,
    owner: owner ?? null,
    backoff: backoff ?? null,
  }
}
