import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import type { SqsErrorName } from '../../../src/surfaces/sqs-protocol/sqs-error.ts'
import {
  account,
  assertRefused,
  header,
  temporary,
  verify,
  withHeader,
} from './signature-checks.ts'
import {
  accessKeyId,
  presigned,
  type Signing,
  secretAccessKey,
  signedAt,
  signedByHeader,
} from './signed-request.ts'

const forms = [
  ['a header', signedByHeader],
  ['the query', presigned],
] as const

describe.each(forms)('a signature in %s', (_form, sign) => {
  test('tells who signed, for which account and region', async () => {
    const signer = { accessKeyId, account, region: 'ap-southeast-2' }
    assert.deepEqual(verify(await sign({}, { region: 'ap-southeast-2' }), signedAt), signer)
  })

  test.each([
    ['/'],
    ['/000000000000/attempts.fifo'],
    ['//000000000000///attempts'],
    ['/a/./b/../c/'],
    ['/a/..'],
    ['/a%20b%2Fc'],
    ['/x:y@z,;='],
  ])('holds for the path %s', async (path) => {
    verify(await sign({ path }), signedAt)
  })

  test('holds for queries in any order and spelling', async () => {
    const query = { 'a-b': '1', a: '2', A: '', ä: 'x y', z: "!'()*~", plus: '1+1' }
    const request = await sign({ query })
    verify(request, signedAt)
    const [path = '', text = ''] = request.url.split('?')
    const turned = text.split('&').reverse().join('&')
    verify({ ...request, url: `${path}?${turned}` }, signedAt)
    const respelled = text.replaceAll('%C3%A4', '%c3%a4').replaceAll('%20', '+')
    verify({ ...request, url: `${path}?${respelled}` }, signedAt)
  })

  test('holds whatever spaces a header gained on its way', async () => {
    const request = await sign({ headers: { 'x-tenant': 'north school' } })
    verify(withHeader(request, 'x-tenant', '  north \t  school '), signedAt)
  })

  test('holds for temporary credentials with their token, and not without or with another', async () => {
    verify(await sign({}, temporary), signedAt)
    for (const sessionToken of [undefined, 'another']) {
      const request = await sign(
        {},
        { accessKeyId: temporary.accessKeyId, ...(sessionToken && { sessionToken }) },
      )
      assertRefused(request, 'UnrecognizedClientException')
    }
    const lasting = await sign({}, { sessionToken: temporary.sessionToken })
    assertRefused(lasting, 'UnrecognizedClientException')
  })

  test.each<[string, Signing, SqsErrorName, RegExp]>([
    [
      'of an unknown key',
      { accessKeyId: 'AKIANOBODY' },
      'UnrecognizedClientException',
      /security token.*invalid/,
    ],
    [
      'with another secret',
      { secretAccessKey: `${secretAccessKey}x` },
      'InvalidSignatureException',
      /does not match the signature you provided/,
    ],
    [
      'for another service',
      { service: 'sns' },
      'InvalidSignatureException',
      /scoped to correct service: 'sqs'/,
    ],
    [
      'for a region that cannot be',
      { region: 'EU_Central' },
      'InvalidSignatureException',
      /scoped to a valid region/,
    ],
  ])('is refused when it is %s', async (_name, signing, kind, message) => {
    assertRefused(await sign({}, signing), kind, { message })
  })

  test('is refused for another method, path, query or body', async () => {
    const request = await sign({ query: { Action: 'ReceiveMessage', QueueUrl: 'q' } })
    const kind = 'InvalidSignatureException'
    assertRefused({ ...request, method: 'PUT' }, kind)
    assertRefused({ ...request, url: request.url.replace('?', 'x?') }, kind)
    assertRefused({ ...request, url: request.url.replace('ReceiveMessage', 'PurgeQueue') }, kind)
    assertRefused({ ...request, url: `${request.url}&VisibilityTimeout=0` }, kind)
    assertRefused({ ...request, url: request.url.replace('&QueueUrl=q', '') }, kind)
    assertRefused({ ...request, body: Buffer.from('{"a":2}') }, kind)
  })

  test('is refused when a signed header is changed, doubled or gone', async () => {
    const request = await sign({ headers: { 'x-tenant': 'north' } })
    for (const name of ['host', 'x-tenant']) {
      assertRefused(withHeader(request, name, 'elsewhere'), 'InvalidSignatureException')
      assertRefused(withHeader(request, name, undefined), 'InvalidSignatureException')
      const rawHeaders = [...request.rawHeaders, name, header(request, name)]
      assertRefused({ ...request, rawHeaders }, 'InvalidSignatureException')
    }
  })

  test('is refused when the host was not signed', async () => {
    const withoutHost = await sign({ headers: { host: '' } })
    const message = /'Host' or ':authority' must be a 'SignedHeader'/
    const unsigned = {
      ...withoutHost,
      url: withoutHost.url.replace(/(X-Amz-SignedHeaders=)[^&]*/, '$1x-other'),
      rawHeaders: withoutHost.rawHeaders.map((text) =>
        text.replace(/SignedHeaders=[^,]*/, 'SignedHeaders=x-other'),
      ),
    }
    assertRefused(unsigned, 'InvalidSignatureException', { message })
  })

  test('is refused when the action beside it was not signed', async () => {
    const request = await sign({ headers: {} })
    const target = withHeader(request, 'x-amz-target', 'AmazonSQS.PurgeQueue')
    assertRefused(target, 'InvalidSignatureException', {
      message: /'x-amz-target' must be a 'SignedHeader'/,
    })
  })

  test('is refused when it is not yet current', async () => {
    const request = await sign()
    verify(request, signedAt - 15 * 60_000)
    assertRefused(request, 'InvalidSignatureException', {
      now: signedAt - 15 * 60_000 - 1_000,
      message:
        /^Signature not yet current: 20260131T095959Z is still later than 20260131T095958Z \(20260131T094458Z \+ 15 min\.\)$/,
    })
  })

  test('is refused when it stands there twice', async () => {
    const both = {
      ...(await presigned()),
      rawHeaders: (await signedByHeader()).rawHeaders,
    }
    assertRefused(both, 'InvalidSignatureException', { message: /Found both/ })
  })
})
