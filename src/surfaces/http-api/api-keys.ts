/** API keys, stored as hashes and compared in constant time. */
import { createHash, timingSafeEqual } from 'node:crypto'
import { checkLength, checkOneOf, type Violations } from '../../core/checks.ts'
import { limits } from '../../core/limits.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import { type OptionNames, refuseUnknownOptions } from '../../core/options.ts'
import { type Caller, type Role, roles } from './caller.ts'

export interface ApiKey {
  /** Logged in place of the key. */
  readonly name: string
  readonly role: Role
  /** At least 16 visible ASCII characters, because it is sent in a header. */
  readonly key?: string
  /** The SHA-256 of the key in hexadecimal digits, in place of the key. */
  readonly keySha256?: string
  /** The owner of this caller's jobs. Default: `name`. */
  readonly owner?: string
}

const keyOptions: OptionNames<ApiKey> = {
  name: true,
  role: true,
  key: true,
  keySha256: true,
  owner: true,
}

interface KnownKey {
  readonly digest: Buffer
  readonly caller: Caller
}

const keyLengthMin = 16
const keyPattern = new RegExp(`^[\\x21-\\x7E]{${keyLengthMin},}$`)

/** Checks the keys, and returns a function that finds the caller of a key. */
export function apiKeyCallers(keys: readonly ApiKey[]): (key: string) => Caller | undefined {
  for (const [index, key] of keys.entries()) {
    refuseUnknownOptions(key, keyOptions, `auth.apiKeys[${index}].`)
  }
  refuseKeys(keys)
  const known = keys.map(knownKey)
  return (key) => {
    const digest = sha256(key)
    let found: Caller | undefined
    // Compares with all keys, so that the time reveals nothing.
    for (const one of known) if (timingSafeEqual(one.digest, digest)) found = one.caller
    return found
  }
}

function knownKey({ name, role, key = '', keySha256, owner = name }: ApiKey): KnownKey {
  return {
    digest: keySha256 === undefined ? sha256(key) : Buffer.from(keySha256, 'hex'),
    caller: {
      role,
      name,
      signature: name,
      identity: `key:${name}`,
      owner: role === 'admin' ? null : owner,
      expiresAt: null,
    },
  }
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

function refuseKeys(keys: readonly ApiKey[]): void {
  const violations: Violations = []
  const names = new Set<string>()
  for (const [index, { name, role, key, keySha256, owner }] of keys.entries()) {
    const field = `auth.apiKeys[${index}]`
    checkLength(violations, `${field}.name`, name, limits.ownerLength)
    checkOneOf(violations, `${field}.role`, role, roles)
    if (owner !== undefined) checkLength(violations, `${field}.owner`, owner, limits.ownerLength)
    if (names.has(name)) {
      violations.push({
        field: `${field}.name`,
        given: 'a name that another key has',
        allowed: 'a unique name',
      })
    }
    names.add(name)
    const fits =
      keySha256 === undefined
        ? typeof key === 'string' && keyPattern.test(key)
        : key === undefined && /^[0-9a-f]{64}$/i.test(keySha256)
    if (fits) continue
    // The error must not contain the given key.
    const allowed =
      `a key of at least ${keyLengthMin} visible ASCII characters, ` +
      'or its SHA-256 as 64 hexadecimal digits'
    violations.push({ field: `${field}.key`, given: 'an invalid value', allowed })
  }
  if (violations.length > 0) throw MillraceError.invalid(violations)
}
