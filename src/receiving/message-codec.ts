/**
 * Encodes and decodes the messages of one declared queue, for programs that send and receive without
 * Millrace, such as an AWS SDK or a Lambda handler. The checks are those of `send` and `receive`.
 */

import { contractOf } from '../contracts/contract-of.ts'
import { isJobsQueue } from '../contracts/jobs-declaration.ts'
import type { DeclaredQueue, MessageInput, MessageOutput } from '../contracts/queue-declaration.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { checkedEncoder } from '../producer/checked-encoder.ts'
import { readMessage } from './read-message.ts'

export interface MessageCodec<Queue extends DeclaredQueue> {
  /**
   * Resolves with the body to send. Rejects with `invalid_message` if the message does not fit the contract.
   */
  encode(message: MessageInput<Queue>): Promise<string>
  /**
   * Resolves with the message in a received body. Rejects with `invalid_message` if it does not fit the
   * contract.
   */
  decode(body: string): Promise<MessageOutput<Queue>>
}

export function messageCodec<Queue extends DeclaredQueue>(declared: Queue): MessageCodec<Queue> {
  if (isJobsQueue(declared)) {
    const allowed = 'a queue declared with queue({...}) or fifo({...})'
    throw MillraceError.invalid([{ field: 'queue', given: 'a jobs queue', allowed }])
  }
  const encode = checkedEncoder(declared)
  const contract = contractOf(declared)
  return {
    encode: (message) => encode(message),
    async decode(body) {
      const read = await readMessage(contract, body)
      if (read.status !== 'read') throw read.error
      // The message passed the contract, so it has the type of the contract's output.
      return read.message as MessageOutput<Queue>
    },
  }
}
