/** How a handler ended, and what is to blame for a failure. */
import type { MillraceError } from '../core/millrace-error.ts'
import type { AttemptEnd } from './attempt-end.ts'
import type { AttemptContext } from './handler-context.ts'

/** How the handler itself ended. */
export type HandlerEnd =
  | { readonly how: 'returned'; readonly value: unknown }
  | Extract<AttemptEnd, { readonly how: 'threw' | 'abandoned' }>

/** The error of a handler, or the reason why it was asked to stop. */
export function causeOf(end: HandlerEnd, context: AttemptContext): unknown {
  if (end.how === 'returned') return undefined
  return end.how === 'threw' ? end.error : context.signal.reason
}

/** If the callback of `within` threw, that is a failure of the handler, with its error. */
export function thrownBy(error: MillraceError): unknown {
  return error.code === 'within_failed' && error.cause !== undefined ? error.cause : error
}
