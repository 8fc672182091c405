/** API keys: known by their hashes, and compared in the same time whether they fit or not. */
import { createHash, timingSafeEqual } from 'node:crypto'
import { checkLength, checkOneOf, type Violations } from '../../core/checks.ts'
import { limits } from '../../core/limits.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import { type Caller, type Role, roles } from './caller.ts'

export interface ApiKey {
  /** Appears in the log in place of the key. */
  readonly name: string
  readonly role: Role
  /** At least 16 visible ASCII characters, so that every header can carry it. */
  readonly key?: string
  /** Instead of the key: its SHA-256 in hexadecimal digits. */
  readonly keySha256?: string
  /** Whose jobs are this caller's own. Default: `name`. */
  readonly owner?: string
}

interface KnownKey {
  readonly digest: Buffer
  readonly caller: Caller
}

const keyLengthMin = 16
const keyPattern = new RegExp(`^[\\x21-\\x7E]{${keyLengthMin},}$`)

/** Refuses keys that cannot be meant; the answer finds the caller of a key. */
export function apiKeyCallers(keys: readonly ApiKey[]): (key: string) => Caller | undefined {
  refuseKeys(keys)
  const known = keys.map(knownKey)
  return (key) => {
    const digest = sha256(key)
    let found: Caller | undefined
    // All are compared, so that the time does not tell which one came close.
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
      violations.push({ field: `${field}.name`, given: 'a name twice', allowed: 'another name' })
    }
    names.add(name)
    const fits =
      keySha256 === undefined
        ? typeof key === 'string' && keyPattern.test(key)
        : key === undefined && /^[0-9a-f]{64}$/i.test(keySha256)
    if (fits) continue
    // Not what was given: it is a secret, if a poor one.
    const allowed = `a key of at least ${keyLengthMin} visible ASCII characters, or its SHA-256 as 64 digits`
    violations.push({ field: `${field}.key`, given: 'something else', allowed })
  }
  if (violations.length > 0) throw MillraceError.invalid(violations)
}
