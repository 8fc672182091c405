/**
 * A message as JSON text. Whatever JSON would drop or change quietly (functions, `NaN`, a `Map`, a
 * hole in an array) is refused, because the receiver would get something else than was sent.
 */
import { joinPath, kindOf } from '../contracts/validate-message.ts'
import { MillraceError } from '../core/millrace-error.ts'

export interface EncodingRules {
  /** Keys of objects that are refused wherever they stand. Default none. */
  readonly refusedKeys?: readonly string[]
}

export function encodeMessage(
  message: unknown,
  field = 'message',
  { refusedKeys = [] }: EncodingRules = {},
): string {
  // Calling back for every value takes most of the time, and is only needed to say what is wrong.
  if (isPlain(message, refusedKeys)) return JSON.stringify(message)
  const paths = new Map<unknown, string>()
  // JSON.stringify passes the holder of each value as `this`, and the whole in a holder of its own.
  function check(this: unknown, key: string, value: unknown): unknown {
    const holder = paths.get(this)
    const path =
      holder === undefined ? field : joinPath(holder, Array.isArray(this) ? Number(key) : key)
    const refusal = refusedKeys.includes(key)
      ? { given: 'a key of this name', allowed: 'another name' }
      : refusalOf(this, key, value)
    if (refusal !== undefined) throw refused(path, refusal.given, refusal.allowed)
    if (typeof value === 'object' && value !== null) paths.set(value, path)
    return value
  }
  return stringify(message, check, field)
}

/** Deeper values are left to JSON.stringify, which knows a circle when it meets one. */
const plainDepthMax = 64

/** Whether it is made of nothing but plain objects, arrays and values that JSON keeps as they are. */
function isPlain(value: unknown, refusedKeys: readonly string[], depth = 0): boolean {
  switch (typeof value) {
    case 'string':
      return isPlainText(value)
    case 'number':
      return Number.isFinite(value)
    case 'boolean':
      return true
    case 'object':
      break
    default:
      return false
  }
  if (value === null) return true
  if (depth === plainDepthMax) return false
  if (Array.isArray(value)) {
    if ('toJSON' in value) return false
    // Not `every`, which passes over holes.
    for (const item of value) if (!isPlain(item, refusedKeys, depth + 1)) return false
    return true
  }
  if (Object.getPrototypeOf(value) !== Object.prototype || 'toJSON' in value) return false
  for (const key of Object.keys(value)) {
    if (refusedKeys.includes(key) || !isPlainText(key)) return false
    if (!isPlain((value as Record<string, unknown>)[key], refusedKeys, depth + 1)) return false
  }
  return true
}

type Replacer = (this: unknown, key: string, value: unknown) => unknown

function stringify(message: unknown, check: Replacer, field: string): string {
  try {
    const text: string | undefined = JSON.stringify(message, check)
    if (text !== undefined) return text
  } catch (error) {
    if (error instanceof MillraceError) throw error
    // The engine's own texts describe the structure, not the contents; a toJSON may say anything.
    const allowed = 'a value that JSON can hold: not circular, not nested without end'
    throw refused(field, kindOf(message), allowed)
  }
  throw refused(field, kindOf(message), 'a JSON value')
}

interface Refusal {
  readonly given: string
  readonly allowed: string
}

function refusalOf(holder: unknown, key: string, value: unknown): Refusal | undefined {
  if (!isPlainText(key)) return { given: 'a key with such characters', allowed: plainText }
  switch (typeof value) {
    case 'string':
      return isPlainText(value) ? undefined : { given: 'such a text', allowed: plainText }
    case 'number':
      return Number.isFinite(value)
        ? undefined
        : { given: 'a number that is not finite', allowed: 'a finite number' }
    case 'bigint':
    case 'function':
    case 'symbol':
      return { given: kindOf(value), allowed: 'a JSON value' }
    case 'undefined':
      // In an object it means that the property is not there; in an array it would become null.
      return Array.isArray(holder) ? { given: 'nothing', allowed: 'a JSON value' } : undefined
    default:
      return value instanceof Map || value instanceof Set
        ? { given: 'a Map or a Set', allowed: 'an object or an array' }
        : undefined
  }
}

const plainText = 'text without NUL characters and lone surrogates'

function isPlainText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}

function refused(field: string, given: string, allowed: string): MillraceError {
  return MillraceError.invalid([{ field: field.slice(0, 200), given, allowed }], 'invalid_message')
}
