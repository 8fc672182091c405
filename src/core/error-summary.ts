/**
 * The text of an error as it may be stored, logged and shown: one line, without a stack, without what
 * looks like a secret, and cut to a length. What a contract marks as secret or personal is taken out
 * of it by value.
 */
import { isError } from './is-error.ts'
import { limits } from './limits.ts'

const hidden = '[hidden]'

/** Each is linear in the length of the text: none has a repeat within a repeat. */
const revealing: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  // user:password@ in addresses of services
  [/\b([a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/@]{1,256}@/gi, `$1${hidden}@`],
  [/\b(Bearer|Basic)\s+[\w.~+/=-]{8,4096}/gi, `$1 ${hidden}`],
  [/\beyJ[\w-]{8,2048}\.[\w-]{4,4096}\.[\w-]{0,2048}/g, hidden],
  [/\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g, hidden],
  [/\bsk-[\w-]{16,256}/g, hidden],
  [
    /\b(pass(?:word|wd)?|secret|token|api[_-]?key|authorization|credential)(["']?\s{0,4}[:=]\s{0,4}["']?)[^\s"',;&}]{1,512}/gi,
    `$1$2${hidden}`,
  ],
  [/[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}/g, '[e-mail]'],
]

/** Only this much of a text is read; more than is kept, so that cutting cannot undo hiding. */
const lookedAt = 8_192

export function errorSummary(error: unknown, hide: readonly string[] = []): string {
  let text = textOf(error)
  text = text.slice(0, endOfLook(text, hide))
  // Longest first: a value that contains another one is hidden whole.
  for (const value of [...hide].sort((one, other) => other.length - one.length)) {
    text = text.replaceAll(value, hidden)
  }
  for (const [pattern, replacement] of revealing) text = text.replace(pattern, replacement)
  return cut(
    text
      .toWellFormed()
      .replace(/[\s\p{Cc}]+/gu, ' ')
      .trim(),
  )
}

/** Where a long text is cut: in front of a value that would be cut in two, and then not be found. */
function endOfLook(text: string, hide: readonly string[]): number {
  if (text.length <= lookedAt) return text.length
  let end = lookedAt
  for (let before = 0; before !== end; ) {
    before = end
    for (const value of hide) {
      const at = text.lastIndexOf(value, end - 1)
      if (at >= 0 && at + value.length > end) end = at
    }
  }
  return end
}

/** Names that say nothing which the text does not. */
const plainNames: readonly string[] = ['', 'Error', 'UnrecoverableError', 'MillraceError']

function textOf(error: unknown): string {
  if (isError(error)) {
    const named = plainNames.includes(error.name) ? '' : `${error.name}: `
    return `${named}${error.message}` || 'An error without a message.'
  }
  if (typeof error === 'string') return error || 'An error without a message.'
  return `A value of type ${error === null ? 'null' : typeof error} was thrown.`
}

function cut(text: string): string {
  const { max } = limits.errorLength
  return text.length <= max ? text : `${text.slice(0, max - 1).toWellFormed()}…`
}
