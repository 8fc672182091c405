/** The message of a delivery, read against the contract of its queue or of the type of its job. */
import type { Delivery } from '../backends/backend.ts'
import { contractOf, jobContractOf } from '../contracts/contract-of.ts'
import { isJobsQueue, jobTypeOf } from '../contracts/jobs-declaration.ts'
import type { DeclaredQueue, MessageSchema } from '../contracts/queue-declaration.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { type ReadMessage, readMessage } from './read-message.ts'

/** Why a plain message has no place in a queue of jobs. */
export const notAJob = 'The message is not a job, and this queue is for jobs.'

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

/** A type that the app does not know, it has no contract for. */
function deliveryContract(
  declared: DeclaredQueue,
  type: string | undefined,
): MessageSchema | undefined {
  if (type === undefined || !isJobsQueue(declared)) return contractOf(declared)
  const known = jobTypeOf(declared, type)
  return known && jobContractOf(declared, known)
}
