/** A verifier that knows two keys, and ways to tamper with what was signed. */
import assert from 'node:assert/strict'
import {
  type SignedRequest,
  signatureVerifier,
  type VerifySignature,
} from '../../../src/surfaces/sqs-protocol/access/verify-signature.ts'
import { SqsError, type SqsErrorName } from '../../../src/surfaces/sqs-protocol/sqs-error.ts'
import { accessKeyId, secretAccessKey, signedAt } from './signed-request.ts'

export const account = '111122223333'
export const temporary = { accessKeyId: 'ASIATUTORING00000002', sessionToken: 'token/of+a=session' }

export const verify: VerifySignature = signatureVerifier((id) => {
  if (id === accessKeyId) return { secretAccessKey, account }
  if (id !== temporary.accessKeyId) return undefined
  return { secretAccessKey, account, sessionToken: temporary.sessionToken }
})

export function assertRefused(
  request: SignedRequest,
  kind: SqsErrorName,
  { message = /./, now = signedAt }: { message?: RegExp; now?: number } = {},
): void {
  assert.throws(
    () => verify(request, now),
    (error: unknown) => {
      assert.ok(error instanceof SqsError, String(error))
      assert.equal(error.kind, kind, error.message)
      assert.match(error.message, message)
      return true
    },
  )
}

/** The same request with one header changed; undefined leaves it out. */
export function withHeader(
  request: SignedRequest,
  name: string,
  value: string | undefined,
): SignedRequest {
  const rawHeaders: string[] = []
  let found = false
  for (let at = 0; at < request.rawHeaders.length; at += 2) {
    const known = request.rawHeaders[at] ?? ''
    const isMeant = known.toLowerCase() === name
    found ||= isMeant
    if (!isMeant) rawHeaders.push(known, request.rawHeaders[at + 1] ?? '')
    else if (value !== undefined) rawHeaders.push(known, value)
  }
  if (!found && value !== undefined) rawHeaders.push(name, value)
  return { ...request, rawHeaders }
}

export function header(request: SignedRequest, name: string): string {
  return request.rawHeaders[request.rawHeaders.indexOf(name) + 1] ?? ''
}

export function editAuthorization(
  request: SignedRequest,
  edit: (value: string) => string,
): SignedRequest {
  const before = header(request, 'authorization')
  const after = edit(before)
  assert.notEqual(after, before)
  return withHeader(request, 'authorization', after)
}
