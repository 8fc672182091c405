/**
 * Removes from a text what must not be stored, logged or shown: what looks like a secret, and the values that
 * a contract marks as secret or personal.
 */
import { behindSecretName } from './secret-names.ts'

export const hiddenMark = '[hidden]'

/** Each is linear in the length of the text: none has a repeat within a repeat. */
const revealing: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  // user:password@ in addresses of services
  [/\b([a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/@]{1,256}@/gi, `$1${hiddenMark}@`],
  [/\b(Bearer|Basic)\s+[\w.~+/=-]{8,4096}/gi, `$1 ${hiddenMark}`],
  [/\beyJ[\w-]{8,2048}\.[\w-]{4,4096}\.[\w-]{0,2048}/g, hiddenMark],
  [/\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g, hiddenMark],
  [/\bsk-[\w-]{16,256}/g, hiddenMark],
  ...behindSecretName(`(["']?\\s{0,4}[:=]\\s{0,4}["']?)[^\\s"',;&}]{1,512}`).map(
    (pattern) => [pattern, `$1$2${hiddenMark}`] as const,
  ),
  // Not the version in the path of a package, such as zod@4.1.0 or scan@v1.2.3.
  [
    /[\w.+-]{1,64}@(?!v?\d{1,5}\.\d{1,5}\.\d{1,5}(?![\d.]))[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}/g,
    '[e-mail]',
  ],
]

/** Only this much of a text is read; more than is kept, so that cutting cannot undo hiding. */
const lookedAt = 8_192

export function cleanText(text: string, hide: readonly string[] = []): string {
  let cleaned = hideValues(text.slice(0, endOfLook(text, hide)), hide)
  for (const [pattern, replacement] of revealing) cleaned = cleaned.replace(pattern, replacement)
  return cleaned.toWellFormed()
}

/** Removes only the given values. */
export function hideValues(text: string, hide: readonly string[]): string {
  let cleaned = text
  // Longest first: a value that contains another one is hidden whole.
  for (const value of hide.toSorted((one, other) => other.length - one.length)) {
    cleaned = cleaned.replaceAll(value, hiddenMark)
  }
  return cleaned
}

/** The text on one line, without control characters. */
export function oneLine(text: string): string {
  return text.replace(/[\s\p{Cc}]+/gu, ' ').trim()
}

export function cutText(text: string, lengthMax: number): string {
  return text.length <= lengthMax ? text : `${text.slice(0, lengthMax - 1).toWellFormed()}…`
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
