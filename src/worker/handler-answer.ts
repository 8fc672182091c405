/** Checks and encodes what a handler has returned, before any of it is settled. */
import { validateMessage } from '../contracts/validate-message.ts'
import { limits } from '../core/limits.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { encodeMessage } from '../producer/encode-message.ts'
import type { AttemptEnd } from './attempt-end.ts'
import { isOutcome } from './outcomes.ts'
import type { Work } from './source.ts'

const encoder = new TextEncoder()

/** Throws when the result does not fit the contract of its type. */
export async function endOf(answer: unknown, { result: schema }: Work): Promise<AttemptEnd> {
  if (isOutcome(answer)) return { how: 'chose', outcome: answer }
  if (answer === undefined || answer === null) {
    if (schema !== undefined) await validateMessage(schema, answer, 'result')
    return { how: 'returned', result: undefined }
  }
  const result = encodeMessage(answer, 'result')
  refuseSize(result)
  if (schema !== undefined) await validateMessage(schema, JSON.parse(result), 'result')
  return { how: 'returned', result }
}

function refuseSize(result: string): void {
  const { max } = limits.messageBytesMax
  // A character takes one to three bytes, so most results need not be measured.
  if (result.length * 3 <= max) return
  const bytes = encoder.encode(result).length
  if (bytes <= max) return
  const message = `The result is larger than a message may be: ${bytes} bytes, at most ${max}.`
  throw new MillraceError('message_too_large', { message })
}
