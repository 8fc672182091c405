import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { SQS as JsonSqs } from '@aws-sdk/client-sqs'
import { SQS as QuerySqs } from 'client-sqs-query'
import { afterEach, beforeEach, describe, test } from 'vitest'
import type { SignedRequest } from '../../../src/surfaces/sqs-protocol/access/verify-signature.ts'
import { debianEnvironment } from '../sqs-clients/debian-environment.ts'
import { account, assertRefused, temporary, verify } from './signature-checks.ts'
import { accessKeyId, secretAccessKey } from './signed-request.ts'

const region = 'eu-west-1'
const now = (): number => Date.now()

interface Credentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
}

interface SdkOptions {
  readonly endpoint: string
  readonly region: string
  readonly credentials: Credentials
  readonly maxAttempts: number
}

/** What both versions can do. */
interface Sdk {
  listQueues(input: object): Promise<unknown>
  sendMessage(input: {
    readonly QueueUrl: string
    readonly MessageBody: string
    readonly MessageGroupId: string
  }): Promise<unknown>
  destroy(): void
}

type OpenSdk = (options: SdkOptions) => Sdk

describe('the AWS SDK for JavaScript', () => {
  let server: Server
  let endpoint: string
  let seen: SignedRequest[]

  beforeEach(async () => {
    seen = []
    server = createServer(async (request, response) => {
      const body = Buffer.concat(await request.toArray())
      const { method = '', url = '', rawHeaders } = request
      seen.push({ method, url, rawHeaders, body })
      response.writeHead(400).end('{}')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    endpoint = `http://localhost:${(server.address() as AddressInfo).port}`
  })

  afterEach(() => server.close())

  test.each<[string, OpenSdk, Credentials]>([
    ['of today', (options) => new JsonSqs(options), { accessKeyId, secretAccessKey }],
    [
      'of today, with temporary credentials',
      (options) => new JsonSqs(options),
      { ...temporary, secretAccessKey },
    ],
    ['of 2023', (options) => new QuerySqs(options), { accessKeyId, secretAccessKey }],
    [
      'of 2023, with temporary credentials',
      (options) => new QuerySqs(options),
      { ...temporary, secretAccessKey },
    ],
  ])('%s signs in a way that is understood', async (_name, open, credentials) => {
    const client = open({ endpoint, region, credentials, maxAttempts: 1 })
    const QueueUrl = `${endpoint}/${account}/tutoring attempts.fifo`
    const MessageBody = 'ä "body" & more + 100 %\n'
    await assert.rejects(client.listQueues({}))
    await assert.rejects(client.sendMessage({ QueueUrl, MessageBody, MessageGroupId: 'g' }))
    client.destroy()
    assert.equal(seen.length, 2)
    const signer = { accessKeyId: credentials.accessKeyId, account, region }
    for (const request of seen) {
      assert.deepEqual(verify(request, now()), signer)
      assertRefused({ ...request, body: Buffer.from('{}x') }, 'InvalidSignatureException', {
        now: now(),
      })
    }
  })
})

const program = fileURLToPath(new URL('./sign-with-botocore.py', import.meta.url))

interface Wanted {
  readonly method?: string
  readonly url: string
  readonly params?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly credentials?: readonly string[]
  readonly service?: string
  readonly expires?: number
}

/** One process for all of them, since starting Python takes longer than signing. */
function signedByBotocore(wanted: readonly Wanted[]): readonly SignedRequest[] {
  const defaults = {
    method: 'POST',
    headers: {},
    body: '',
    credentials: [accessKeyId, secretAccessKey],
    service: 'sqs',
    region,
  }
  const complete = wanted.map((one) => ({ ...defaults, ...one }))
  const answer = execFileSync('/usr/bin/python3', [program], {
    input: JSON.stringify(complete),
    env: debianEnvironment(),
    encoding: 'utf8',
  })
  const signed: readonly Sent[] = JSON.parse(answer)
  return signed.map(({ method, url, headers }, at) => {
    const { host, pathname, search } = new URL(url)
    return {
      method,
      url: pathname + search,
      rawHeaders: ['Host', host, ...Object.entries(headers).flat()],
      body: Buffer.from(complete[at]?.body ?? ''),
    }
  })
}

interface Sent {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

describe('botocore, on which boto3 and the aws command are built', () => {
  const queue = `http://localhost:4566/${account}/attempts.fifo`
  const temporaryKey = [temporary.accessKeyId, secretAccessKey, temporary.sessionToken]
  const params = { Action: 'SendMessage', MessageBody: "ä + b & c = '~*'", Version: '2012-11-05' }

  function assertUnderstood(wanted: readonly Wanted[]): void {
    const requests = signedByBotocore(wanted)
    assert.equal(requests.length, wanted.length)
    for (const request of requests) {
      const signer = verify(request, now())
      assert.deepEqual({ account: signer.account, region: signer.region }, { account, region })
    }
  }

  test('signs in a header in a way that is understood', () => {
    const json = {
      'Content-Type': 'application/x-amz-json-1.0',
      'X-Amz-Target': 'AmazonSQS.SendMessage',
    }
    assertUnderstood([
      { url: 'http://localhost:4566/', headers: json, body: '{"MessageBody":"ä"}' },
      { url: 'http://localhost:4566', body: 'Action=ListQueues&Version=2012-11-05' },
      { url: queue, body: 'Action=SendMessage&MessageBody=%C3%A4+b' },
      { method: 'GET', url: queue, params },
      { method: 'GET', url: `http://localhost:4566//${account}/a%20b/c/`, params },
      { url: queue, credentials: temporaryKey },
    ])
  })

  test('signs in the query in a way that is understood', () => {
    const expires = 600
    assertUnderstood([
      { method: 'GET', url: queue, params, expires },
      { method: 'GET', url: `${queue}?Action=ReceiveMessage&a=%2F`, expires },
      { method: 'POST', url: queue, params, expires },
      { method: 'GET', url: queue, params, expires, credentials: temporaryKey },
    ])
  })

  test('is refused with another secret, another service or another body', () => {
    const [secret, service, body] = signedByBotocore([
      { url: queue, credentials: [accessKeyId, 'another secret'] },
      { url: queue, service: 'sns' },
      { url: queue, body: 'Action=ReceiveMessage' },
    ])
    assert.ok(secret && service && body)
    const kind = 'InvalidSignatureException'
    assertRefused(secret, kind, { now: now(), message: /does not match/ })
    assertRefused(service, kind, { now: now(), message: /correct service: 'sqs'/ })
    assertRefused({ ...body, body: Buffer.from('Action=PurgeQueue') }, kind, { now: now() })
    verify(body, now())
  })
})
