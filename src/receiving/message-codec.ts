/**
 * The messages of one declared queue as bodies, for those who send and receive through something else
 * than Millrace, such as an AWS SDK or a Lambda handler. The checks are those of `send` and `receive`.
 */

import { contractOf } from '../contracts/contract-of.ts'
import { isJobsQueue } from '../contracts/jobs-declaration.ts'
import type { DeclaredQueue, MessageInput, MessageOutput } from '../contracts/queue-declaration.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { checkedEncoder } from '../producer/checked-encoder.ts'
import { readMessage } from './read-message.ts'

export interface MessageCodec<Queue extends DeclaredQueue> {
  /** The body to send, or an `invalid_message` error. */
  encode(message: MessageInput<Queue>): Promise<string>
  /** The message in a body that was received, or an `invalid_message` error. */
  decode(body: string): Promise<MessageOutput<Queue>>
}

export function messageCodec<Queue extends DeclaredQueue>(declared: Queue): MessageCodec<Queue> {
  if (isJobsQueue(declared)) {
    const allowed = 'a queue declared with queue({...}) or fifo({...})'
    throw MillraceError.invalid([{ field: 'queue', given: 'a queue of jobs', allowed }])
  }
  const encode = checkedEncoder(declared)
  const contract = contractOf(declared)
  return {
    encode: (message) => encode(message),
    async decode(body) {
      const read = await readMessage(contract, body)
      if (read.status !== 'read') throw read.error
      // The contract of the queue has made it, so it has the type of the contract's output.
      return read.message as MessageOutput<Queue>
    },
  }
}
