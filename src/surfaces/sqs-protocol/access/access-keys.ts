/** The access keys that may sign requests to the SQS endpoint, and their accounts. */
import type { Violations } from '../../../core/checks.ts'
import { MillraceError } from '../../../core/millrace-error.ts'
import type { Credential, CredentialLookup } from './verify-signature.ts'

export interface AccessKey {
  /** AWS_ACCESS_KEY_ID of AWS clients. Not a secret. */
  readonly accessKeyId: string
  /** AWS_SECRET_ACCESS_KEY of AWS clients: at least 16 visible ASCII characters. */
  readonly secretAccessKey: string
  /** Twelve digits: the account of the caller's queues. Default: the account of the server. */
  readonly account?: string
  /** Makes the key temporary: it is valid only with this AWS_SESSION_TOKEN. */
  readonly sessionToken?: string
}

const secretLengthMin = 16

/**
 * Checks the keys, and returns a function that finds the secret of a key. Other fields are ignored: a program may share
 * the object with an AWS client, which adds its own.
 */
export function accessKeyLookup(
  keys: readonly AccessKey[],
  defaultAccount: string,
): CredentialLookup {
  refuseKeys(keys)
  const known = new Map<string, Credential>(
    keys.map(({ accessKeyId, account = defaultAccount, ...secrets }) => [
      accessKeyId,
      { account, ...secrets },
    ]),
  )
  return (accessKeyId) => known.get(accessKeyId)
}

function refuseKeys(keys: readonly AccessKey[]): void {
  const violations: Violations = []
  const ids = new Set<string>()
  // The error must not contain the given value: it may be a secret, also in the wrong field.
  const refuse = (field: string, allowed: string): void => {
    violations.push({ field, given: 'an invalid value', allowed })
  }
  for (const [index, { accessKeyId, secretAccessKey, account, sessionToken }] of keys.entries()) {
    const at = `accessKeys[${index}]`
    if (!fits(accessKeyId, /^[\w.-]{1,128}$/)) {
      refuse(`${at}.accessKeyId`, '1 to 128 letters, digits, dots, dashes and underscores')
    } else if (ids.has(accessKeyId)) {
      refuse(`${at}.accessKeyId`, 'an id that no other key has')
    }
    ids.add(accessKeyId)
    if (!fits(secretAccessKey, visible) || secretAccessKey.length < secretLengthMin) {
      refuse(`${at}.secretAccessKey`, `at least ${secretLengthMin} visible ASCII characters`)
    }
    if (account !== undefined && !fits(account, /^\d{12}$/))
      refuse(`${at}.account`, 'twelve digits')
    if (sessionToken !== undefined && !fits(sessionToken, visible)) {
      refuse(`${at}.sessionToken`, 'visible ASCII characters')
    }
  }
  if (violations.length > 0) throw MillraceError.invalid(violations)
}

const visible = /^[\x21-\x7E]+$/

/** Callers without types may pass anything. */
function fits(value: unknown, pattern: RegExp): boolean {
  return typeof value === 'string' && pattern.test(value)
}
