/** The text of an error as it may be stored, logged and shown: one cleaned line, cut to a length. */
import { cleanText, cutText, oneLine } from './clean-text.ts'
import { isError } from './is-error.ts'
import { limits } from './limits.ts'

export function errorSummary(error: unknown, hide: readonly string[] = []): string {
  return cutText(oneLine(cleanText(textOf(error), hide)), limits.errorLength.max)
}

/** Names that say nothing which the text does not. */
const plainNames: readonly string[] = ['', 'Error', 'UnrecoverableError', 'MillraceError']

function textOf(error: unknown): string {
  const name = nameOf(error)
  return plainNames.includes(name) ? messageOf(error) : `${name}: ${messageOf(error)}`
}

export function nameOf(error: unknown): string {
  const name = isError(error) ? readField(error, 'name') : undefined
  return typeof name === 'string' ? name : ''
}

/** The message of an error, or a description of another value that was thrown. */
export function messageOf(error: unknown): string {
  const text = isError(error) ? readField(error, 'message') : error
  if (typeof text === 'string') return text || 'An error without a message.'
  return `A value of type ${error === null ? 'null' : typeof error} was thrown.`
}

/** A getter of an error may throw too, and the failure must be recorded all the same. */
export function readField(error: object, field: string): unknown {
  try {
    return (error as Readonly<Record<string, unknown>>)[field]
  } catch {
    return undefined
  }
}
