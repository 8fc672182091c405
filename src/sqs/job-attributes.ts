/**
 * The message attributes with which SQS clients and Lambda functions send and receive tracked jobs. Their
 * prefix is reserved, so they do not count towards the ten attributes of a sender.
 */
import type { Delivery, MessageAttribute } from '../backends/backend.ts'
import type { DeliveredJob } from '../backends/job-store.ts'

export const jobAttributePrefix = 'millrace.'

/** What a sender may say about a job. Only the type is required. */
export const sentJobAttributes = {
  type: 'millrace.jobType',
  owner: 'millrace.owner',
  idempotencyKey: 'millrace.idempotencyKey',
  maxAttempts: 'millrace.maxAttempts',
} as const

/** What a receiver gets with a job. */
export const receivedJobAttributes = {
  id: 'millrace.jobId',
  type: 'millrace.jobType',
  attempt: 'millrace.attempt',
  maxAttempts: 'millrace.maxAttempts',
  /** Milliseconds since 1970, as in SentTimestamp. */
  deadline: 'millrace.deadline',
} as const

type Attributes = Readonly<Record<string, MessageAttribute>>

const names = receivedJobAttributes

/** What a worker needs to run a job and to report on it. */
export function jobAttributes(
  job: DeliveredJob,
  { leaseExpiresAt }: Pick<Delivery, 'leaseExpiresAt'>,
): Attributes {
  return {
    [names.id]: textAttribute(job.id),
    [names.type]: textAttribute(job.type),
    [names.attempt]: numberAttribute(job.attempt),
    [names.maxAttempts]: numberAttribute(job.maxAttempts),
    [names.deadline]: numberAttribute(leaseExpiresAt),
  }
}

export function textAttribute(value: string): MessageAttribute {
  return { type: 'String', value }
}

export function numberAttribute(value: number): MessageAttribute {
  return { type: 'Number', value: String(value) }
}
