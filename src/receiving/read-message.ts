/** From the body of a delivery back to a message that fits its contract. */
import type { MessageSchema } from '../contracts/queue-declaration.ts'
import { validateMessageSoon } from '../contracts/validate-message.ts'
import { MillraceError } from '../core/millrace-error.ts'

export type ReadMessage =
  | { readonly status: 'read'; readonly message: unknown }
  /** It will never fit: reading it again gives the same answer. */
  | { readonly status: 'unfit'; readonly error: MillraceError }
  /** The schema itself failed, so nothing is known about the message. */
  | { readonly status: 'unknown'; readonly error: MillraceError }

/** At once where the schema can: most do, and a promise for each message has its price. */
export function readMessage(
  schema: MessageSchema | undefined,
  body: string,
): ReadMessage | Promise<ReadMessage> {
  let parsed: unknown
  try {
    parsed = JSON.parse(body)
  } catch {
    const violation = { field: 'message', given: 'a body that is not JSON', allowed: 'JSON' }
    return { status: 'unfit', error: MillraceError.invalid([violation], 'invalid_message') }
  }
  if (schema === undefined) return { status: 'read', message: parsed }
  try {
    const message = validateMessageSoon(schema, parsed)
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
  const message = 'The schema of the queue threw while it checked the message.'
  return { status: 'unknown', error: new MillraceError('invalid_message', { message, cause }) }
}
