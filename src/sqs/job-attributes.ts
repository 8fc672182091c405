/**
 * The message attributes with which a job travels as an SQS message. They are added when the message is
 * delivered, so they do not count towards the ten attributes of the sender.
 */
import type { DeliveredJob } from '../backends/job-store.ts'
import type { MessageAttribute } from '../core/message.ts'

export const jobAttributeNames = {
  id: 'millrace.jobId',
  type: 'millrace.jobType',
  attempt: 'millrace.attempt',
  maxAttempts: 'millrace.maxAttempts',
} as const

export function jobAttributes({
  id,
  type,
  attempt,
  maxAttempts,
}: Pick<DeliveredJob, 'id' | 'type' | 'attempt' | 'maxAttempts'>): Readonly<
  Record<string, MessageAttribute>
> {
  return {
    [jobAttributeNames.id]: { type: 'String', value: id },
    [jobAttributeNames.type]: { type: 'String', value: type },
    [jobAttributeNames.attempt]: { type: 'Number', value: String(attempt) },
    [jobAttributeNames.maxAttempts]: { type: 'Number', value: String(maxAttempts) },
  }
}
