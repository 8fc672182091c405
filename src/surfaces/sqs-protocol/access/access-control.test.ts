import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { systemPorts } from '../../../core/ports.ts'
import { SqsError, type SqsErrorName } from '../sqs-error.ts'
import { accessControl } from './access-control.ts'

const home = { region: 'us-east-1', account: '000000000000' }
const { clock } = systemPorts
const keys = [{ accessKeyId: 'one', secretAccessKey: 'a-secret-of-some-length' }]

const local = accessControl({ accessKeys: undefined, isPublic: false, home, clock })

interface Headers {
  readonly [name: string]: string
}

function headWith(headers: Headers, url = '/') {
  return { method: 'POST', url, rawHeaders: Object.entries(headers).flat() }
}

function assertTurnedAway(run: () => unknown, kind: SqsErrorName): void {
  assert.throws(run, (error) => error instanceof SqsError && error.kind === kind)
}

describe('an endpoint without keys, on a loopback address', () => {
  test.each([
    'localhost:4566',
    'LOCALHOST',
    '127.0.0.1:4566',
    '127.0.0.2',
    '[::1]:4566',
    'sqs.localhost:4566',
    'localhost.localstack.cloud:4566',
    'sqs.eu-central-1.localhost.localstack.cloud:4566',
    'eu-central-1.queue.localhost.localstack.cloud',
    'host.docker.internal:4566',
    'host.containers.internal:4566',
  ])('answers to the name %s', (host) => {
    local.checkHeaders(headWith({ Host: host }))
  })

  test.each([
    'evil.test',
    'localhost.evil.test',
    'evillocalhost',
    'notlocalhost.localstack.cloud.evil.test',
    'app.localstack.cloud',
    'xlocalhost.localstack.cloud',
    'docker.internal',
    '192.168.0.1:4566',
    '0.0.0.0',
    '',
    ' ',
  ])('does not answer to the name %j, which a page can have', (host) => {
    assertTurnedAway(() => local.checkHeaders(headWith({ host })), 'AccessDeniedException')
  })

  test('does not answer without a name, or to two', () => {
    assertTurnedAway(() => local.checkHeaders(headWith({})), 'AccessDeniedException')
    const rawHeaders = ['host', 'localhost', 'Host', 'localhost']
    const two = { method: 'GET', url: '/', rawHeaders }
    assertTurnedAway(() => local.checkHeaders(two), 'AccessDeniedException')
  })

  test.each<Headers>([
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { origin: 'https://evil.test' },
    { origin: 'http://app.localstack.cloud' },
    { origin: 'http://localhost.evil.test' },
    { origin: 'null' },
    { origin: '' },
    { 'sec-fetch-site': 'same-origin', origin: 'https://evil.test' },
  ])('does not answer pages of others: %j', (headers) => {
    const head = headWith({ host: 'localhost:4566', ...headers })
    assertTurnedAway(() => local.checkHeaders(head), 'AccessDeniedException')
  })

  test.each<Headers>([
    { 'sec-fetch-site': 'none' },
    { 'sec-fetch-site': 'same-origin', origin: 'http://localhost:4566' },
    { origin: 'http://127.0.0.1:3000' },
    { origin: 'http://[::1]:3000' },
  ])('answers those of this machine: %j', (headers) => {
    local.checkHeaders(headWith({ host: 'localhost:4566', ...headers }))
  })

  const body = Buffer.alloc(0)
  const authorization = (id: string) =>
    `AWS4-HMAC-SHA256 Credential=${id}/20260131/eu-west-1/sqs/aws4_request, SignedHeaders=host`

  test('believes what a request says of its key and region', () => {
    const request = { ...headWith({ authorization: authorization('AKIA1') }), body }
    const signer = { accessKeyId: 'AKIA1', account: home.account, region: 'eu-west-1' }
    assert.deepEqual(local.authenticate(request), signer)
  })

  test('takes a key of twelve digits for an account', () => {
    const request = { ...headWith({ authorization: authorization('111122223333') }), body }
    assert.equal(local.authenticate(request).account, '111122223333')
  })

  test('treats a request without credentials as one of the home account', () => {
    const anonymous = { accessKeyId: 'anonymous', ...home }
    assert.deepEqual(local.authenticate({ ...headWith({ host: 'localhost' }), body }), anonymous)
  })
})

describe('an endpoint without keys, on an address that others can reach', () => {
  test('is closed, and says how to open it', () => {
    const closed = accessControl({ accessKeys: undefined, isPublic: true, home, clock })
    const request = { ...headWith({ host: 'localhost' }), body: Buffer.alloc(0) }
    assertTurnedAway(() => closed.checkHeaders(request), 'AccessDeniedException')
    assert.throws(() => closed.authenticate(request), /MILLRACE_ACCESS_KEYS/)
  })
})

describe('an endpoint with keys', () => {
  const guarded = accessControl({ accessKeys: keys, isPublic: true, home, clock })

  test('turns strangers away before they send their body', () => {
    const head = headWith({ host: 'queues.example' })
    assertTurnedAway(() => guarded.checkHeaders(head), 'MissingAuthenticationTokenException')
    const half = headWith({ authorization: 'AWS4-HMAC-SHA256 Credential=a' })
    assertTurnedAway(() => guarded.checkHeaders(half), 'IncompleteSignatureException')
  })

  test('does not begin without a single key', () => {
    const without = () => accessControl({ accessKeys: [], isPublic: false, home, clock })
    assert.throws(without, { code: 'invalid_argument', message: /accessKeys: got no keys/ })
  })
})
