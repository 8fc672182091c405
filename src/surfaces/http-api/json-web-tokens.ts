/**
 * JSON Web Tokens. The configured key decides which algorithms are accepted, never the token. So a public key
 * cannot be used as a secret, and `none` is always rejected.
 */
import { createPublicKey, type KeyObject } from 'node:crypto'
import type { JWTPayload, JWTVerifyGetKey, JWTVerifyOptions } from 'jose'
import { limits } from '../../core/limits.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import { type OptionNames, refuseUnknownOptions } from '../../core/options.ts'
import type { Clock } from '../../core/ports.ts'
import { isLoopback } from '../local-request.ts'
import { ApiProblem } from './api-problem.ts'
import { type Caller, isRole } from './caller.ts'

export interface JwtAuth {
  /** Shared secret for HS256, HS384 or HS512, at least 32 bytes. Set this, `publicKey` or `jwksUrl`. */
  readonly secret?: string
  /** Public key in PEM form: RSA, EC or Ed25519. */
  readonly publicKey?: string
  /** URL of the issuer's public keys: https, or http on this machine. */
  readonly jwksUrl?: string
  readonly issuer?: string
  readonly audience?: string
  /** The claim with the role. Tokens without it have the role `user`. Default: `role`. */
  readonly roleClaim?: string
}

/** A misspelt `audience` would accept the tokens of other services. */
const jwtOptions: OptionNames<JwtAuth> = {
  secret: true,
  publicKey: true,
  jwksUrl: true,
  issuer: true,
  audience: true,
  roleClaim: true,
}

/** Resolves with the caller of a token, or undefined if the token is not valid. */
export type VerifyToken = (token: string) => Promise<Caller | undefined>

type Verify = (token: string, options: JWTVerifyOptions) => Promise<JWTPayload | undefined>

const secretBytesMin = 32
const rsaAlgorithms: readonly string[] = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512']
const ecAlgorithms: Readonly<Record<string, string>> = {
  prime256v1: 'ES256',
  secp384r1: 'ES384',
  secp521r1: 'ES512',
}
const edwardsAlgorithms: readonly string[] = ['EdDSA', 'Ed25519']

/** Clocks of two machines differ a little. */
const clockToleranceS = 5

export function tokenVerifier(jwt: JwtAuth, clock: Pick<Clock, 'now'>): VerifyToken {
  refuseUnknownOptions(jwt, jwtOptions, 'auth.jwt.')
  const { issuer, audience, roleClaim = 'role' } = jwt
  const verify = verifierOf(jwt)
  return async (token) => {
    const payload = await verify(token, {
      requiredClaims: ['exp', 'sub'],
      clockTolerance: clockToleranceS,
      currentDate: new Date(clock.now()),
      ...(issuer !== undefined && { issuer }),
      ...(audience !== undefined && { audience }),
    })
    return payload && callerOf(payload, roleClaim)
  }
}

function verifierOf({ secret, publicKey, jwksUrl }: JwtAuth): Verify {
  const given = [secret, publicKey, jwksUrl].filter((key) => key !== undefined)
  if (given.length !== 1) {
    throw refusedSetting('auth.jwt', 'exactly one of secret, publicKey and jwksUrl')
  }
  if (secret !== undefined) {
    const key = new TextEncoder().encode(secret)
    if (key.byteLength < secretBytesMin) {
      throw refusedSetting('auth.jwt.secret', `at least ${secretBytesMin} bytes`)
    }
    return verifyWith(key, ['HS256', 'HS384', 'HS512'])
  }
  if (publicKey !== undefined) {
    const key = readPublicKey(publicKey)
    return verifyWith(key, algorithmsOf(key))
  }
  return verifyRemotely(readJwksUrl(jwksUrl))
}

function verifyWith(key: KeyObject | Uint8Array, algorithms: readonly string[]): Verify {
  return async (token, options) => {
    const { jwtVerify } = await loadJose()
    return jwtVerify(token, key, { ...options, algorithms: [...algorithms] }).then(
      ({ payload }) => payload,
      () => undefined,
    )
  }
}

function verifyRemotely(url: URL): Verify {
  const algorithms = [...rsaAlgorithms, ...Object.values(ecAlgorithms), ...edwardsAlgorithms]
  let keys: JWTVerifyGetKey | undefined
  return async (token, options) => {
    const { createRemoteJWKSet, errors, jwtVerify } = await loadJose()
    keys ??= createRemoteJWKSet(url)
    return jwtVerify(token, keys, { ...options, algorithms }).then(
      ({ payload }) => payload,
      (error: unknown) => refusal(error, errors),
    )
  }
}

type Jose = typeof import('jose')

/** Loaded with the first token, so that servers without tokens start faster. */
function loadJose(): Promise<Jose> {
  return import('jose')
}

/** An invalid token has no caller. If the keys cannot be fetched, the service is unavailable. */
function refusal(error: unknown, errors: Jose['errors']): undefined {
  const aboutToken =
    error instanceof errors.JWTExpired ||
    error instanceof errors.JWTClaimValidationFailed ||
    error instanceof errors.JWTInvalid ||
    error instanceof errors.JWSInvalid ||
    error instanceof errors.JWSSignatureVerificationFailed ||
    error instanceof errors.JOSEAlgNotAllowed ||
    error instanceof errors.JOSENotSupported ||
    error instanceof errors.JWKSNoMatchingKey ||
    error instanceof errors.JWKSMultipleMatchingKeys
  if (aboutToken) return undefined
  throw new ApiProblem('unavailable')
}

function callerOf(payload: JWTPayload, roleClaim: string): Caller | undefined {
  const { sub, exp } = payload
  const role = Object.hasOwn(payload, roleClaim) ? payload[roleClaim] : 'user'
  if (!isRole(role) || !isOwner(sub) || exp === undefined) return undefined
  return {
    role,
    name: 'jwt',
    signature: sub,
    identity: `sub:${sub}`,
    owner: role === 'admin' ? null : sub,
    expiresAt: exp * 1_000,
  }
}

function isOwner(sub: unknown): sub is string {
  const { min, max } = limits.ownerLength
  return (
    typeof sub === 'string' &&
    sub.length >= min &&
    sub.length <= max &&
    sub.isWellFormed() &&
    !sub.includes('\0')
  )
}

function readPublicKey(pem: string): KeyObject {
  const field = 'auth.jwt.publicKey'
  // Node could derive the public key from it, but a private key does not belong in these settings.
  if (pem.includes('PRIVATE KEY')) throw refusedSetting(field, 'a public key, not a private one')
  try {
    return createPublicKey(pem)
  } catch {
    throw refusedSetting(field, 'a public key in PEM form')
  }
}

function algorithmsOf(key: KeyObject): readonly string[] {
  switch (key.asymmetricKeyType) {
    case 'rsa':
      return rsaAlgorithms
    case 'ed25519':
      return edwardsAlgorithms
    case 'ec': {
      const algorithm = ecAlgorithms[key.asymmetricKeyDetails?.namedCurve ?? '']
      if (algorithm !== undefined) return [algorithm]
    }
  }
  throw refusedSetting('auth.jwt.publicKey', 'an RSA, Ed25519 or NIST EC key')
}

function readJwksUrl(text: string | undefined): URL {
  const url = text !== undefined && URL.canParse(text) ? new URL(text) : undefined
  const isLocal = url?.protocol === 'http:' && isLoopback(url.hostname)
  if (url !== undefined && (url.protocol === 'https:' || isLocal)) return url
  throw refusedSetting('auth.jwt.jwksUrl', 'an https address')
}

function refusedSetting(field: string, allowed: string): MillraceError {
  return MillraceError.invalid([{ field, given: 'an invalid value', allowed }])
}
