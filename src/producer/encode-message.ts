/**
 * Encodes a message as JSON. Values that JSON would silently drop or change (functions, `NaN`, a `Map`, a
 * hole in an array) are refused, because the receiver would get something else.
 */
import { joinPath, kindOf } from '../contracts/validate-message.ts'
import { MillraceError } from '../core/millrace-error.ts'

export interface EncodingRules {
  /** Object keys that are refused at any depth. Default: none. */
  readonly refusedKeys?: readonly string[]
}

export function encodeMessage(
  message: unknown,
  field = 'message',
  { refusedKeys = [] }: EncodingRules = {},
): string {
  // The replacer takes most of the time, and is only needed to find out what is wrong.
  if (isPlain(message, refusedKeys)) return JSON.stringify(message)
  const paths = new Map<unknown, string>()
  // JSON.stringify passes the object that holds each value as `this`, and wraps the root in an object.
  function check(this: unknown, key: string, value: unknown): unknown {
    const holder = paths.get(this)
    const path =
      holder === undefined ? field : joinPath(holder, Array.isArray(this) ? Number(key) : key)
    const refusal = refusedKeys.includes(key)
      ? { given: 'this key', allowed: 'another name' }
      : refusalOf(this, key, value)
    if (refusal !== undefined) throw refused(path, refusal.given, refusal.allowed)
    if (typeof value === 'object' && value !== null) paths.set(value, path)
    return value
  }
  return stringify(message, check, field)
}

/** Deeper values are left to JSON.stringify, which detects circular references. */
const plainDepthMax = 64

/** Whether it consists only of plain objects, arrays and values that JSON preserves. */
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
    // Not `every`, which skips holes.
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
    // Messages of the engine describe the structure, not the contents. A toJSON may throw any text.
    const allowed =
      'a value that JSON can represent, without circular references or extreme nesting'
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
      return isPlainText(value)
        ? undefined
        : { given: 'text with such characters', allowed: plainText }
    case 'number':
      return Number.isFinite(value)
        ? undefined
        : { given: 'a number that is not finite', allowed: 'a finite number' }
    case 'bigint':
    case 'function':
    case 'symbol':
      return { given: kindOf(value), allowed: 'a JSON value' }
    case 'undefined':
      // In an object, undefined means that the property is absent. In an array it would become null.
      return Array.isArray(holder) ? { given: 'nothing', allowed: 'a JSON value' } : undefined
    default:
      return value instanceof Map || value instanceof Set
        ? { given: 'a Map or a Set', allowed: 'an object or an array' }
        : undefined
  }
}

const plainText = 'text without NUL characters or lone surrogates'

function isPlainText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}

function refused(field: string, given: string, allowed: string): MillraceError {
  return MillraceError.invalid([{ field: field.slice(0, 200), given, allowed }], 'invalid_message')
}

/** Reads the JSON of a body. Throws `invalid_message` without quoting it. */
export function parseJson(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    const violation = { field: 'message', given: 'a body that is not JSON', allowed: 'JSON' }
    throw MillraceError.invalid([violation], 'invalid_message')
  }
}
