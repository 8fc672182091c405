/** Reads the message of a delivery and checks it against the contract of its queue or job type. */
import type { Delivery } from '../backends/backend.ts'
import { contractOf, jobContractOf } from '../contracts/contract-of.ts'
import { isJobsQueue, jobTypeOf } from '../contracts/jobs-declaration.ts'
import type { DeclaredQueue, MessageSchema } from '../contracts/queue-declaration.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { type ReadMessage, readMessage } from './read-message.ts'

/** The error for a plain message in a jobs queue. */
export const notAJob =
  'The message is not a job, but the queue is a jobs queue. Enqueue jobs with mill.jobs.'

export type ReadDelivery = Pick<Delivery, 'body' | 'job'>

export async function readDelivery(
  declared: DeclaredQueue,
  { body, job }: ReadDelivery,
): Promise<ReadMessage> {
  if (isJobsQueue(declared) && job === null) {
    return { status: 'unfit', error: new MillraceError('invalid_message', { message: notAJob }) }
  }
  return readMessage(deliveryContract(declared, job?.type), body)
}

/** Undefined if the app does not know the job type. */
function deliveryContract(
  declared: DeclaredQueue,
  type: string | undefined,
): MessageSchema | undefined {
  if (type === undefined || !isJobsQueue(declared)) return contractOf(declared)
  const known = jobTypeOf(declared, type)
  return known && jobContractOf(declared, known)
}
