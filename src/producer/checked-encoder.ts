/** From a message to the body that is stored: encoded, and held against the contract of its queue. */
import { contractOf } from '../contracts/contract-of.ts'
import type { DeclaredQueue } from '../contracts/queue-declaration.ts'
import { validateMessage } from '../contracts/validate-message.ts'
import { encodeMessage } from './encode-message.ts'

export type CheckedEncoder = (message: unknown, field?: string) => Promise<string>

export function checkedEncoder(declared: DeclaredQueue): CheckedEncoder {
  const contract = contractOf(declared)
  return async (message, field) => {
    const body = encodeMessage(message, field)
    // The receiver validates what JSON leaves of the message, so the sender does too: a Date that
    // arrives as a string is refused here and not dead-lettered there.
    if (contract !== undefined) await validateMessage(contract, JSON.parse(body), field)
    return body
  }
}
