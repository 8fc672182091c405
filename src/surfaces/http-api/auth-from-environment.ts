/**
 * Credentials from environment variables, because other users can see a command line: MILLRACE_API_KEYS
 * (`name:role:key`, comma separated), MILLRACE_JWT_SECRET, MILLRACE_JWT_PUBLIC_KEY, MILLRACE_JWT_JWKS_URL,
 * MILLRACE_JWT_ISSUER and MILLRACE_JWT_AUDIENCE.
 */
import { MillraceError } from '../../core/millrace-error.ts'
import type { ApiKey } from './api-keys.ts'
import type { ApiAuth } from './authenticate.ts'
import { isRole, roles } from './caller.ts'
import type { JwtAuth } from './json-web-tokens.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** Returns undefined if no credentials are set. Empty variables count as unset. */
export function authFromEnvironment(environment: Environment): ApiAuth | undefined {
  const apiKeys = apiKeysIn(environment['MILLRACE_API_KEYS'] ?? '')
  const jwt = jwtIn(environment)
  if (apiKeys.length === 0 && jwt === undefined) return undefined
  return { apiKeys, ...(jwt !== undefined && { jwt }) }
}

function apiKeysIn(list: string): readonly ApiKey[] {
  return list
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')
    .map(apiKeyFrom)
}

function apiKeyFrom(entry: string, index: number): ApiKey {
  const [, name = '', role, key = ''] = /^([^:]+):([^:]+):(.+)$/.exec(entry) ?? []
  if (!isRole(role)) {
    const field = `MILLRACE_API_KEYS, entry ${index + 1}`
    const allowed = `name:role:key, where the role is one of ${roles.join(', ')}`
    throw MillraceError.invalid([{ field, given: 'an invalid value', allowed }])
  }
  const [, hash] = /^sha256:([0-9a-f]{64})$/i.exec(key) ?? []
  return hash === undefined ? { name, role, key } : { name, role, keySha256: hash }
}

function jwtIn(environment: Environment): JwtAuth | undefined {
  const value = (name: string): string | undefined =>
    environment[`MILLRACE_JWT_${name}`] || undefined
  const secret = value('SECRET')
  // In a variable, a PEM often has `\n` in place of line breaks.
  const publicKey = value('PUBLIC_KEY')?.replaceAll('\\n', '\n')
  const jwksUrl = value('JWKS_URL')
  const issuer = value('ISSUER')
  const audience = value('AUDIENCE')
  if (secret === undefined && publicKey === undefined && jwksUrl === undefined) return undefined
  return {
    ...(secret !== undefined && { secret }),
    ...(publicKey !== undefined && { publicKey }),
    ...(jwksUrl !== undefined && { jwksUrl }),
    ...(issuer !== undefined && { issuer }),
    ...(audience !== undefined && { audience }),
  }
}
