/** Turns a message into the body to store: encodes it and checks it against the contract of its queue. */
import { contractOf } from '../contracts/contract-of.ts'
import type { DeclaredQueue } from '../contracts/queue-declaration.ts'
import { validateMessage } from '../contracts/validate-message.ts'
import { encodeMessage } from './encode-message.ts'

export type CheckedEncoder = (message: unknown, field?: string) => Promise<string>

export function checkedEncoder(declared: DeclaredQueue): CheckedEncoder {
  const contract = contractOf(declared)
  return async (message, field) => {
    const body = encodeMessage(message, field)
    // The receiver validates what JSON preserves of the message, so the sender does too. Without this, a Date
    // would be sent here and dead-lettered there as a string.
    if (contract !== undefined) await validateMessage(contract, JSON.parse(body), field)
    return body
  }
}
