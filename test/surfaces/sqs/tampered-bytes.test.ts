import assert from 'node:assert/strict'
import fc from 'fast-check'
import { describe, test } from 'vitest'
import type { SignedRequest } from '../../../src/surfaces/sqs-protocol/access/verify-signature.ts'
import { SqsError } from '../../../src/surfaces/sqs-protocol/sqs-error.ts'
import { verify } from './signature-checks.ts'
import { presigned, signedAt, signedByHeader } from './signed-request.ts'

const body = '{"QueueUrl":"http://localhost:4566/000000000000/attempts","MessageBody":"ä"}'

/** The parts of a request, one text each, in which a byte can be turned. */
function textsOf({ method, url, rawHeaders, body: bytes }: SignedRequest): readonly string[] {
  return [method, url, Buffer.from(bytes).toString('latin1'), ...rawHeaders]
}

function requestOf([
  method = '',
  url = '',
  text = '',
  ...rawHeaders
]: readonly string[]): SignedRequest {
  return { method, url, rawHeaders, body: Buffer.from(text, 'latin1') }
}

/** Two spellings of one request: HTTP does not tell them apart. */
function meaning(texts: readonly string[]): string {
  const [method, url = '', text, ...rawHeaders] = texts
  const headers = rawHeaders.map((part, at) => (at % 2 === 0 ? part.toLowerCase() : part))
  const escapesInCapitals = url.replace(/%[0-9a-f]{2}/gi, (found) => found.toUpperCase())
  return JSON.stringify([method, escapesInCapitals, text, headers])
}

function flipped(text: string, { at, bit }: { at: number; bit: number }): string {
  const bytes = Buffer.from(text, 'latin1')
  bytes[at] = (bytes[at] ?? 0) ^ (1 << bit)
  return bytes.toString('latin1')
}

describe('a signed request of which one bit was turned', () => {
  test.each([
    ['in a header', () => signedByHeader({ body, query: { Action: 'SendMessage' } })],
    ['in the query', () => presigned()],
    ['in the query of a request with a body', () => presigned({ method: 'POST', body })],
  ])('is refused, with the signature %s', async (_form, sign) => {
    const texts = textsOf(await sign())
    verify(requestOf(texts), signedAt)
    const total = texts.reduce((sum, text) => sum + text.length, 0)
    const bits = fc.record({ byte: fc.nat(total - 1), bit: fc.nat(7) })
    fc.assert(
      fc.property(bits, ({ byte, bit }) => {
        let at = byte
        const part = texts.findIndex((text) => {
          if (at < text.length) return true
          at -= text.length
          return false
        })
        const turned = texts.with(part, flipped(texts[part] ?? '', { at, bit }))
        fc.pre(meaning(turned) !== meaning(texts))
        assert.throws(() => verify(requestOf(turned), signedAt), SqsError)
      }),
      { numRuns: 5_000 },
    )
  })
})

describe('a request that was never signed', () => {
  const word = fc.oneof(
    fc.constantFrom(
      'AWS4-HMAC-SHA256',
      'Credential=',
      'AKIATUTORING00000001/20260131/eu-central-1/sqs/aws4_request',
      'SignedHeaders=host;x-amz-date',
      'Signature=',
      'X-Amz-Algorithm=AWS4-HMAC-SHA256',
      'X-Amz-Expires=60',
      ',',
      ' ',
      '&',
      ';',
      '=',
      '%',
      '/',
      '\t',
    ),
    fc.string({ unit: fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)) }),
  )
  const words = fc.array(word, { maxLength: 12 }).map((all) => all.join(''))
  const header = fc.tuple(
    fc.constantFrom('authorization', 'x-amz-date', 'host', 'date', 'x-amz-security-token'),
    fc.oneof(words, fc.constant('20260131T095959Z')),
  )
  const request = fc.record({
    method: fc.constantFrom('GET', 'POST'),
    url: words.map((text) => `/?${text}`),
    rawHeaders: fc.array(header, { maxLength: 6 }).map((all) => all.flat()),
    body: fc.constant(Buffer.alloc(0)),
  })

  test('is refused by a name, whatever it says', () => {
    fc.assert(
      fc.property(request, (one) => {
        assert.throws(() => verify(one, signedAt), SqsError)
      }),
      { numRuns: 5_000 },
    )
  })
})
