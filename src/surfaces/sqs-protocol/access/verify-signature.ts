/**
 * Verifies Signature Version 4: the signer, the service, the region, the time, and that the request was not
 * changed. After the algorithm, the checks have the same order as on AWS. So a request with several faults
 * gets the same error.
 */
import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto'
import { SqsError } from '../sqs-error.ts'
import { canonicalRequest, type RequestHead, sha256Hex } from './canonical-request.ts'
import { type CredentialScope, isRegion, parseCredential } from './credential-scope.ts'
import { claimsOf, type SignatureClaims, signatureAlgorithm, single } from './signature-claims.ts'
import { checkSignatureTime } from './signature-time.ts'
import { SigningKeys } from './signing-keys.ts'

export interface SignedRequest extends RequestHead {
  readonly body: Uint8Array
}

export interface Credential {
  readonly secretAccessKey: string
  /** Twelve digits: the account of the caller's queues. */
  readonly account: string
  /** Required with temporary credentials. */
  readonly sessionToken?: string
}

export type CredentialLookup = (accessKeyId: string) => Credential | undefined

/** The signer of a request. */
export interface Signer {
  readonly accessKeyId: string
  readonly account: string
  readonly region: string
}

/** Returns the signer, or throws an `SqsError`. */
export type VerifySignature = (request: SignedRequest, nowMs: number) => Signer

const service = 'sqs'
const terminator = 'aws4_request'

export function signatureVerifier(lookup: CredentialLookup): VerifySignature {
  const keys = new SigningKeys(service)
  return (request, nowMs) => {
    const claims = claimsOf(request)
    checkSignatureTime(claims, nowMs)
    checkSignedHeaders(claims)
    const scope = scopeFrom(claims)
    const { accessKeyId, region } = scope
    const credential = lookup(accessKeyId)
    if (credential === undefined) throw unknownToken()
    const signingKey = keys.keyFor(scope, credential.secretAccessKey)
    if (!isSignature(claims.signature, expectedSignature(request, claims, signingKey))) {
      throw mismatch()
    }
    // After verification, so that unauthenticated requests cannot evict keys from the cache.
    keys.keep(scope, signingKey)
    if (claims.securityToken !== credential.sessionToken) throw unknownToken()
    return { accessKeyId, account: credential.account, region }
  }
}

function checkSignedHeaders({ isPresigned, signedHeaders, headers }: SignatureClaims): void {
  if (!signedHeaders.includes('host')) {
    throw mustBeSigned("'Host' or ':authority'")
  }
  // Headers that change the meaning of the request must be signed.
  const date = headers.has('x-amz-date') ? ['x-amz-date'] : ['date']
  const needed = [...(isPresigned ? [] : date), 'x-amz-target', 'x-amz-security-token']
  for (const name of needed) {
    if (headers.has(name) && !signedHeaders.includes(name)) throw mustBeSigned(`'${name}'`)
  }
}

function mustBeSigned(header: string): SqsError {
  return new SqsError(
    'InvalidSignatureException',
    `${header} must be a 'SignedHeader' in the AWS Authorization.`,
  )
}

function scopeFrom({ credential, date }: SignatureClaims): CredentialScope {
  const scope = parseCredential(credential)
  if (scope === undefined) {
    throw new SqsError(
      'IncompleteSignatureException',
      'Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term.',
    )
  }
  const faults: string[] = []
  if (!isRegion(scope.region)) faults.push('Credential should be scoped to a valid region.')
  if (scope.service !== service) {
    faults.push(`Credential should be scoped to correct service: '${service}'.`)
  }
  if (scope.terminator !== terminator) {
    faults.push(`Credential should be scoped with a valid terminator: '${terminator}'.`)
  }
  if (scope.date !== date.slice(0, 8)) {
    faults.push(
      'Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP.',
    )
  }
  if (faults.length > 0) throw new SqsError('InvalidSignatureException', faults.join(' '))
  return scope
}

/** Returns undefined if no signature can match. */
function expectedSignature(
  { method, body }: SignedRequest,
  { path, query, headers, signedHeaders, date, credential }: SignatureClaims,
  signingKey: KeyObject,
): string | undefined {
  const payloadSha256 = sha256Hex(body)
  const declared = single(headers, 'x-amz-content-sha256')
  if (headers.has('x-amz-content-sha256') && declared !== payloadSha256) return undefined
  const parts = { method, path, query, headers, signedHeaders, payloadSha256 }
  const canonical = canonicalRequest(parts)
  if (canonical === undefined) return undefined
  const scope = credential.slice(credential.indexOf('/') + 1)
  const toSign = `${signatureAlgorithm}\n${date}\n${scope}\n${sha256Hex(canonical)}`
  return createHmac('sha256', signingKey).update(toSign).digest('hex')
}

function isSignature(given: string, expected: string | undefined): boolean {
  if (expected === undefined || given.length !== expected.length) return false
  return timingSafeEqual(Buffer.from(given, 'latin1'), Buffer.from(expected, 'latin1'))
}

function mismatch(): SqsError {
  return new SqsError(
    'InvalidSignatureException',
    'The request signature we calculated does not match the signature you provided. Check your ' +
      'AWS Secret Access Key and signing method. Consult the service documentation for details.',
  )
}

function unknownToken(): SqsError {
  return new SqsError(
    'UnrecognizedClientException',
    'The security token included in the request is invalid.',
  )
}
