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

type Attributes = Readonly<Record<string, MessageAttribute>>

/** What a worker needs to run a job and to report on it. */
export function jobAttributes(
  job: DeliveredJob,
  { leaseExpiresAt }: Pick<Delivery, 'leaseExpiresAt'>,
): Attributes {
  return {
    'millrace.jobId': text(job.id),
    [sentJobAttributes.type]: text(job.type),
    'millrace.attempt': number(job.attempt),
    [sentJobAttributes.maxAttempts]: number(job.maxAttempts),
    // Milliseconds since 1970, as in SentTimestamp.
    'millrace.deadline': number(leaseExpiresAt),
  }
}

function text(value: string): MessageAttribute {
  return { type: 'String', value }
}

function number(value: number): MessageAttribute {
  return { type: 'Number', value: String(value) }
}
