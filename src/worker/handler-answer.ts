/** Checks and encodes what a handler has returned, before any of it is settled. */
import { validateMessageSoon } from '../contracts/validate-message.ts'
import { limits } from '../core/limits.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { encodeMessage } from '../producer/encode-message.ts'
import type { AttemptEnd } from './attempt-end.ts'
import { isOutcome } from './outcomes.ts'
import type { Work } from './source.ts'

const encoder = new TextEncoder()

/** At once, unless the schema has to wait. Throws when the result does not fit its contract. */
export function endOf(answer: unknown, { result: schema }: Work): AttemptEnd | Promise<AttemptEnd> {
  if (isOutcome(answer)) return { how: 'chose', outcome: answer }
  let value = answer ?? undefined
  let result: string | undefined
  if (value !== undefined) {
    result = encodeMessage(value, 'result')
    refuseSize(result)
    if (schema !== undefined) value = JSON.parse(result)
  }
  const end: AttemptEnd = { how: 'returned', result }
  const checked = schema && validateMessageSoon(schema, value, 'result')
  return checked instanceof Promise ? checked.then(() => end) : end
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
