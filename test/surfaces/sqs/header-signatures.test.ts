import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { assertRefused, editAuthorization, verify, withHeader } from './signature-checks.ts'
import { signedAt, signedByHeader } from './signed-request.ts'

describe('a signature in a header', () => {
  test('expires after fifteen minutes', async () => {
    const request = await signedByHeader()
    verify(request, signedAt + 15 * 60_000)
    assertRefused(request, 'InvalidSignatureException', {
      now: signedAt + 15 * 60_000 + 1_000,
      message:
        /^Signature expired: 20260131T095959Z is now earlier than 20260131T100000Z \(20260131T101500Z - 15 min\.\)$/,
    })
  })

  test('holds for one that has its parameters apart by commas alone', async () => {
    const request = await signedByHeader()
    verify(
      editAuthorization(request, (value) => value.replaceAll(', ', ',')),
      signedAt,
    )
  })

  test('is for the body that was declared', async () => {
    const request = await signedByHeader()
    for (const declared of ['UNSIGNED-PAYLOAD', '0'.repeat(64)]) {
      const lying = withHeader(request, 'x-amz-content-sha256', declared)
      assertRefused(lying, 'InvalidSignatureException')
    }
    const unsigned = { 'x-amz-content-sha256': 'UNSIGNED-PAYLOAD' }
    assertRefused(await signedByHeader({ headers: unsigned }), 'InvalidSignatureException')
  })

  test('is missing when there is none, or one of another kind', async () => {
    const request = await signedByHeader()
    const message = /^Request is missing Authentication Token$/
    for (const value of [undefined, '', 'Basic dGVzdDp0ZXN0', 'Bearer abc', 'AWS']) {
      const other = withHeader(request, 'authorization', value)
      assertRefused(other, 'MissingAuthenticationTokenException', { message })
    }
  })

  test('is incomplete when it is of an older version', async () => {
    const older = withHeader(await signedByHeader(), 'authorization', 'AWS test:c2ln')
    const message = /use AWS Signature Version 4 \(AWS4-HMAC-SHA256\)/
    assertRefused(older, 'IncompleteSignatureException', { message })
  })

  test('is refused for its algorithm before all else', async () => {
    const elliptic = editAuthorization(await signedByHeader(), () => 'AWS4-ECDSA-P256-SHA256 x')
    const message = /^Unsupported AWS 'algorithm': 'AWS4-ECDSA-P256-SHA256'/
    for (const request of [elliptic, withHeader(elliptic, 'x-amz-date', undefined)]) {
      const now = signedAt + 60 * 60_000
      assertRefused(request, 'IncompleteSignatureException', { now, message })
    }
  })

  test.each<[string, (value: string) => string, RegExp]>([
    [
      'no credential',
      (value) => value.replace(/Credential=[^,]*, /, ''),
      /requires 'Credential' parameter/,
    ],
    [
      'no signature',
      (value) => value.replace(/, Signature=.*/, ''),
      /requires 'Signature' parameter/,
    ],
    [
      'an empty signature',
      (value) => value.replace(/Signature=.*/, 'Signature='),
      /requires 'Signature' parameter/,
    ],
    [
      'no signed headers',
      (value) => value.replace(/SignedHeaders=[^,]*, /, ''),
      /requires 'SignedHeaders' parameter/,
    ],
    [
      'nothing',
      () => 'AWS4-HMAC-SHA256',
      /'Credential' parameter\. .*'Signature' parameter\. .*'SignedHeaders'/,
    ],
    ['a part without a name', (value) => `${value}, more`, /key=value pairs/],
    ['two signatures', (value) => `${value}, Signature=ab`, /each only once/],
    [
      'a credential of four parts',
      (value) => value.replace('/sqs/', '/'),
      /exactly 5 slash-delimited elements/,
    ],
    [
      'another algorithm',
      (value) => value.replace('SHA256', 'SHA512'),
      /Unsupported AWS 'algorithm': 'AWS4-HMAC-SHA512'/,
    ],
    [
      'an elliptic signature',
      (value) => value.replace('HMAC-SHA256', 'ECDSA-P256-SHA256').replace('/eu-central-1', ''),
      /'AWS4-ECDSA-P256-SHA256' \(only AWS4-HMAC-SHA256/,
    ],
  ])('is incomplete with %s', async (_name, edit, message) => {
    const request = editAuthorization(await signedByHeader(), edit)
    assertRefused(request, 'IncompleteSignatureException', { message })
  })

  test.each(['Sat, 31 Jan 2026 09:59:59 GMT', '2026-01-31T09:59:59Z', '20260230T095959Z', '', 'x'])(
    'is incomplete with the date %j',
    async (date) => {
      const request = withHeader(await signedByHeader(), 'x-amz-date', date)
      const message = /ISO-8601 'basic format'/
      assertRefused(request, 'IncompleteSignatureException', { message })
    },
  )

  test('is incomplete without a date', async () => {
    const request = withHeader(await signedByHeader(), 'x-amz-date', undefined)
    const message = /either a 'X-Amz-Date' or a 'Date' header/
    assertRefused(request, 'IncompleteSignatureException', { message })
  })

  test.each<[string, (value: string) => string, RegExp]>([
    [
      'of another day',
      (value) => value.replace('/20260131/', '/20260130/'),
      /Date in Credential scope/,
    ],
    [
      'with another end',
      (value) => value.replace('aws4_request', 'aws5_request'),
      /valid terminator: 'aws4_request'/,
    ],
    [
      'of nobody, for nowhere and nothing',
      (value) => value.replace(/\/2026.*aws4_request/, '/a/B/c/d'),
      /region\. .*service: 'sqs'\. .*terminator: 'aws4_request'\. Date in/,
    ],
    ['that is cut off', (value) => value.slice(0, -1), /does not match/],
    [
      'in capitals',
      (value) =>
        value.replace(/Signature=.*/, (text) =>
          text.toUpperCase().replace('SIGNATURE', 'Signature'),
        ),
      /does not match/,
    ],
  ])('is refused for a scope or signature %s', async (_name, edit, message) => {
    const request = editAuthorization(await signedByHeader(), edit)
    assertRefused(request, 'InvalidSignatureException', { message })
  })

  test('says nothing of what it was given', async () => {
    const secret = 'do-not-repeat-this'
    const request = withHeader(
      editAuthorization(await signedByHeader(), (value) => `${value}, ${secret}`),
      'x-amz-date',
      secret,
    )
    assert.throws(
      () => verify(request, signedAt),
      (error: Error) => !error.message.includes(secret),
    )
  })
})
