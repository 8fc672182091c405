/**
 * Removes from a text what must not be stored, logged or shown: what looks like a secret, and the values that
 * a contract marks as secret or personal.
 */
import { hiddenMark, hideValues } from './hide-values.ts'
import { behindSecretName } from './secret-names.ts'

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

/** Replaces a value until the patterns were applied. They see a word, so a token with a value is hidden whole. */
const placeholder = 'HIDDENVALUE'

export function cleanText(text: string, hide: readonly string[] = []): string {
  let cleaned = replaceValues(text, hide, lookedAt)
  for (const [pattern, replacement] of revealing) cleaned = cleaned.replace(pattern, replacement)
  return cleaned.replaceAll(placeholder, hiddenMark).toWellFormed()
}

/** The first step of cleaning, for a text of which only parts are cleaned. */
export function replaceValues(text: string, hide: readonly string[], lengthMax?: number): string {
  return hideValues(text, hide, { mark: placeholder, lengthMax })
}

/** The text on one line, without control characters. */
export function oneLine(text: string): string {
  return text.replace(/[\s\p{Cc}]+/gu, ' ').trim()
}

export function cutText(text: string, lengthMax: number): string {
  return text.length <= lengthMax ? text : `${text.slice(0, lengthMax - 1).toWellFormed()}…`
}
