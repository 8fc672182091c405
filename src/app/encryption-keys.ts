/**
 * Encryption keys as a program or the environment gives them. The variable MILLRACE_ENCRYPTION_KEYS has the form
 * `id:key`, comma separated. A variable, because other users can see a command line.
 */
import { describeGiven, type Violations } from '../core/checks.ts'
import { counted } from '../core/counted.ts'
import { MillraceError } from '../core/millrace-error.ts'
import type { CipherKey, CipherKeys } from '../sealing/cipher.ts'

export interface EncryptionKey {
  /** 1 to 32 letters, digits and `_ . -`. It is stored in the clear. */
  readonly id: string
  /** 32 random bytes, or the same in base64 or as hexadecimal digits. */
  readonly key: Uint8Array | string
}

const variable = 'MILLRACE_ENCRYPTION_KEYS'
const keyBytes = 32
const idPattern = /^[\w.-]{1,32}$/
const hexadecimal = /^[0-9a-f]{64}$/i
const base64 = /^[\w+/-]{43}=?$/

/** Undefined if neither the program nor the environment gives a key. */
export function requireKeys(
  given: readonly EncryptionKey[] | undefined,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): CipherKeys | undefined {
  const field = given === undefined ? variable : 'encryptionKeys'
  const entries: unknown = given ?? keysIn(environment[variable] ?? '')
  const violations: Violations = []
  if (!Array.isArray(entries) || (given !== undefined && entries.length === 0)) {
    const allowed = 'a list of { id, key }'
    throw MillraceError.invalid([{ field, given: describeGiven(entries), allowed }])
  }
  const keys = entries.map((entry, index) => keyFrom(violations, `${field}[${index}]`, entry))
  const ids = keys.map(({ id }) => id)
  if (new Set(ids).size < ids.length) {
    violations.push({ field, given: 'two keys of one id', allowed: 'another id for each key' })
  }
  if (violations.length > 0) throw MillraceError.invalid(violations)
  const [sealing, ...others] = keys
  return sealing === undefined ? undefined : [sealing, ...others]
}

function keysIn(text: string): readonly { readonly id: string; readonly key: string }[] {
  return text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')
    .map((entry) => {
      const colon = entry.indexOf(':')
      return { id: entry.slice(0, Math.max(0, colon)), key: entry.slice(colon + 1) }
    })
}

/** Errors never show a key, nor the id where a key may have been typed in its place. */
function keyFrom(into: Violations, field: string, entry: unknown): CipherKey {
  const { id, key }: Partial<EncryptionKey> = Object(entry)
  const bytes = bytesOf(key)
  if (typeof id !== 'string' || !idPattern.test(id)) {
    const allowed = '1 to 32 letters, digits, _ . and -'
    into.push({ field: `${field}.id`, given: describeId(id), allowed })
  }
  if (bytes?.byteLength !== keyBytes) {
    const allowed = '32 bytes, also in base64 or as 64 hexadecimal digits'
    into.push({ field: `${field}.key`, given: describeKey(key), allowed })
  }
  return { id: String(id), key: bytes ?? new Uint8Array() }
}

function bytesOf(key: unknown): Uint8Array | undefined {
  if (key instanceof Uint8Array) return key
  if (typeof key !== 'string') return undefined
  if (hexadecimal.test(key)) return Buffer.from(key, 'hex')
  return base64.test(key) ? Buffer.from(key, 'base64') : undefined
}

function describeId(id: unknown): string {
  if (id === undefined || id === null || id === '') return 'none'
  if (typeof id !== 'string') return `a value of type ${typeof id}`
  return id.length > 32 ? counted(id.length, 'character') : 'text with other characters'
}

function describeKey(key: unknown): string {
  if (key === undefined || key === null) return 'none'
  if (key instanceof Uint8Array) return counted(key.byteLength, 'byte')
  if (typeof key !== 'string') return `a value of type ${typeof key}`
  if (key === '') return 'an empty text'
  if (/\s/.test(key)) return 'text with spaces or line breaks'
  if (/^[0-9a-f]+$/i.test(key)) return counted(key.length, 'hexadecimal digit')
  const isBase64 = /^[\w+/-]+={0,2}$/.test(key) && (!key.endsWith('=') || key.length % 4 === 0)
  if (!isBase64) return 'text that is neither base64 nor hexadecimal digits'
  return `${counted(Buffer.from(key, 'base64').byteLength, 'byte')} in base64`
}
