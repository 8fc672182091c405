/** Checks and encodes the return value of a handler before it is settled. */

import { isOutcome } from '../contracts/handler-outcome.ts'
import { validateMaybeAsync } from '../contracts/validate-message.ts'
import { limits } from '../core/limits.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { encodeMessage } from '../producer/encode-message.ts'
import type { AttemptEnd } from './attempt-end.ts'
import type { Work } from './source.ts'

const encoder = new TextEncoder()

/** Synchronous unless the schema is asynchronous. Throws if the result does not fit its contract. */
export function endOf(
  returned: unknown,
  { result: schema }: Pick<Work, 'result'>,
): AttemptEnd | Promise<AttemptEnd> {
  if (isOutcome(returned)) return { how: 'chose', outcome: returned }
  let value = returned ?? undefined
  let result: string | undefined
  if (value !== undefined) {
    result = encodeMessage(value, 'result')
    refuseSize(result)
    if (schema !== undefined) value = JSON.parse(result)
  }
  const end: AttemptEnd = { how: 'returned', result }
  const checked = schema && validateMaybeAsync(schema, value, 'result')
  return checked instanceof Promise ? checked.then(() => end) : end
}

function refuseSize(result: string): void {
  const { max } = limits.messageBytesMax
  // A character takes one to three bytes, so most results need no exact measurement.
  if (result.length * 3 <= max) return
  const bytes = encoder.encode(result).length
  if (bytes <= max) return
  const message = `The result is too large: it has ${bytes} bytes, and at most ${max} are allowed.`
  throw new MillraceError('message_too_large', { message })
}
