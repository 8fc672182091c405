/** Turns the body of a delivery into a message that fits its contract. */
import type { MessageSchema } from '../contracts/queue-declaration.ts'
import { validateMaybeAsync } from '../contracts/validate-message.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { parseJson } from '../producer/encode-message.ts'

export type ReadMessage =
  | { readonly status: 'read'; readonly message: unknown }
  /** It never fits: reading it again has the same result. */
  | { readonly status: 'unfit'; readonly error: MillraceError }
  /** The schema itself failed, so the message may or may not fit. */
  | { readonly status: 'unknown'; readonly error: MillraceError }

/**
 * Returns without a promise if the schema is synchronous. Most are, and a promise per message is expensive.
 */
export function readMessage(
  schema: MessageSchema | undefined,
  body: string,
): ReadMessage | Promise<ReadMessage> {
  let parsed: unknown
  try {
    parsed = parseJson(body)
  } catch (cause) {
    return asUnread(cause)
  }
  if (schema === undefined) return { status: 'read', message: parsed }
  try {
    const message = validateMaybeAsync(schema, parsed)
    return message instanceof Promise ? message.then(asRead, asUnread) : asRead(message)
  } catch (cause) {
    return asUnread(cause)
  }
}

function asRead(message: unknown): ReadMessage {
  return { status: 'read', message }
}

function asUnread(cause: unknown): ReadMessage {
  if (cause instanceof MillraceError) return { status: 'unfit', error: cause }
  const message = 'The schema of the queue threw an error while checking the message.'
  return { status: 'unknown', error: new MillraceError('invalid_message', { message, cause }) }
}
