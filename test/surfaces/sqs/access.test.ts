import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { request } from 'node:http'
import { promisify } from 'node:util'
import { SQS as JsonSqs } from '@aws-sdk/client-sqs'
import { SQS as QuerySqs } from 'client-sqs-query'
import { describe, onTestFinished, test } from 'vitest'
import { type RunningServer, type ServeOptions, serve } from '../../../src/server.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { debianEnvironment } from '../sqs-clients/debian-environment.ts'
import { accessKeyId, presigned, secretAccessKey } from './signed-request.ts'

const region = 'eu-central-1'
const credentials = { accessKeyId, secretAccessKey }
const other = {
  accessKeyId: 'AKIAOTHERSCHOOL',
  secretAccessKey: 'another secret of theirs'.replaceAll(' ', '-'),
}
const accessKeys = [credentials, { ...other, account: '111122223333' }]
const apiKey = 'a-key-that-is-long-enough'
const auth = { apiKeys: [{ name: 'root', role: 'admin', key: apiKey }] } as const

async function served(options: ServeOptions): Promise<RunningServer> {
  const folder = await temporaryFolder('access')
  const server = await serve({ port: 0, data: folder.path, ...options })
  onTestFinished(async () => {
    await server.stop()
    await folder.remove()
  })
  return server
}

interface SdkRefusal extends Error {
  readonly Code?: string
  readonly $metadata?: { readonly httpStatusCode?: number }
}

/** Name and status of the refusal, as users of the SDK see them. */
async function refusalOf(call: Promise<unknown>): Promise<string> {
  const error: SdkRefusal = await call.then(
    () => assert.fail('the call was not refused'),
    (reason) => reason,
  )
  return `${error.$metadata?.httpStatusCode} ${error.Code ?? error.name}`
}

interface Sdk {
  createQueue(input: { readonly QueueName: string }): Promise<{ QueueUrl?: string | undefined }>
  destroy(): void
}

/** The two protocols have other names for what is wrong with a signature. */
const sdks: readonly (readonly [string, (options: SdkOptions) => Sdk, SignatureRefusals])[] = [
  [
    'the AWS SDK of today',
    (options) => new JsonSqs(options),
    { mismatch: 'InvalidSignatureException', unknown: 'UnrecognizedClientException' },
  ],
  [
    'the AWS SDK of 2023',
    (options) => new QuerySqs(options),
    { mismatch: 'SignatureDoesNotMatch', unknown: 'InvalidClientTokenId' },
  ],
]

interface SignatureRefusals {
  readonly mismatch: string
  readonly unknown: string
}

interface SdkOptions {
  readonly endpoint: string
  readonly region: string
  readonly credentials: typeof credentials
  readonly maxAttempts: number
  readonly systemClockOffset?: number
}

describe('a server with access keys', () => {
  test.each(sdks)(
    'serves those who sign with %s, and tells the others why not',
    async (_name, open, { mismatch, unknown }) => {
      const { url: endpoint } = await served({ accessKeys })
      const call = (
        given: Partial<SdkOptions> = {},
      ): Promise<{ QueueUrl?: string | undefined }> => {
        const client = open({ endpoint, region, credentials, maxAttempts: 1, ...given })
        onTestFinished(() => client.destroy())
        return client.createQueue({ QueueName: 'attempts' })
      }
      assert.equal((await call()).QueueUrl, `${endpoint}/queue/${region}/000000000000/attempts`)
      assert.equal(
        (await call({ credentials: other })).QueueUrl,
        `${endpoint}/queue/${region}/111122223333/attempts`,
      )
      const wrong = { ...credentials, secretAccessKey: 'x'.repeat(40) }
      assert.equal(await refusalOf(call({ credentials: wrong })), `403 ${mismatch}`)
      const nobody = { ...credentials, accessKeyId: 'test' }
      assert.equal(await refusalOf(call({ credentials: nobody })), `403 ${unknown}`)
      const yesterday = { systemClockOffset: -86_400_000 }
      assert.equal(await refusalOf(call(yesterday)), `403 ${mismatch}`)
    },
  )

  test('keeps each key to the queues of its account', async () => {
    const { url: endpoint } = await served({ accessKeys })
    const client = new JsonSqs({ endpoint, region, credentials, maxAttempts: 1 })
    onTestFinished(() => client.destroy())
    const QueueUrl = `${endpoint}/queue/${region}/111122223333/attempts`
    assert.equal(await refusalOf(client.purgeQueue({ QueueUrl })), '403 AccessDenied')
  })

  test('serves the aws command', async () => {
    const { url } = await served({ accessKeys })
    const aws = (secret: string): Promise<{ stdout: string }> =>
      promisify(execFile)('/usr/bin/aws', ['--endpoint-url', url, 'sqs', 'list-queues'], {
        env: debianEnvironment({
          AWS_ACCESS_KEY_ID: accessKeyId,
          AWS_SECRET_ACCESS_KEY: secret,
          AWS_DEFAULT_REGION: region,
        }),
      })
    assert.equal((await aws(secretAccessKey)).stdout, '')
    await assert.rejects(aws('wrong'), /\(SignatureDoesNotMatch\)/)
  })

  test('serves who was given a presigned address, for as long as it holds', async () => {
    const { url } = await served({ accessKeys })
    const { host } = new URL(url)
    const query = { Action: 'CreateQueue', QueueName: 'attempts' }
    const ask = async (atMs: number): Promise<Response> => {
      const signed = await presigned(
        { path: '/', query, headers: { host } },
        { atMs, expiresIn: 60 },
      )
      return fetch(url + signed.url)
    }
    assert.equal((await ask(Date.now())).status, 200)
    const late = await ask(Date.now() - 120_000)
    assert.equal(late.status, 403)
    assert.match(
      await late.text(),
      /<Code>SignatureDoesNotMatch<\/Code><Message>Signature expired: /,
    )
  })

  test('refuses who does not sign, in the words of each protocol', async () => {
    const { url } = await served({ accessKeys })
    const query = await fetch(`${url}/?Action=ListQueues`)
    assert.equal(query.status, 403)
    assert.match(await query.text(), /<Code>MissingAuthenticationToken<\/Code>/)
    const json = await fetch(url, {
      method: 'POST',
      headers: { 'x-amz-target': 'AmazonSQS.ListQueues' },
      body: '{}',
    })
    assert.equal(json.status, 403)
    assert.deepEqual(await json.json(), {
      __type: 'com.amazon.coral.service#MissingAuthenticationTokenException',
      message: 'Request is missing Authentication Token',
    })
  })

  test('does not begin with keys that cannot be meant, and does not repeat them', async () => {
    const keys = [{ accessKeyId: 'one', secretAccessKey: 'a short one' }]
    await assert.rejects(served({ accessKeys: keys }), (error: Error) => {
      assert.match(error.message, /accessKeys\[0\]\.secretAccessKey: .*at least 16/)
      return !error.message.includes('a short one')
    })
    await assert.rejects(served({ accessKeys: [] }), /accessKeys: got no keys/)
  })
})

describe('a server that other machines can reach', () => {
  const host = '0.0.0.0'

  test('does not begin without credentials', async () => {
    await assert.rejects(served({ host }), {
      code: 'address_unavailable',
      message: /Cannot listen on 0\.0\.0\.0.*access keys for SQS, and API keys or a JWT/,
    })
  })

  test('with access keys alone keeps its HTTP API closed, except for health checks', async () => {
    const { port } = await served({ host, accessKeys })
    const url = `http://127.0.0.1:${port}`
    for (const path of ['/jobs', '/openapi.json', '/nothing']) {
      const answer = await fetch(url + path, { headers: { 'x-api-key': apiKey } })
      assert.equal(answer.status, 403)
      const { code, detail } = (await answer.json()) as { code: string; detail: string }
      assert.equal(code, 'closed')
      assert.match(detail, /Start it with API keys/)
    }
    assert.equal((await fetch(`${url}/healthz`)).status, 200)
    const client = new JsonSqs({ endpoint: url, region, credentials })
    onTestFinished(() => client.destroy())
    await client.listQueues({})
  })

  test('with API keys alone keeps its SQS endpoint closed, also to those who sign', async () => {
    const { port } = await served({ host, auth })
    const url = `http://127.0.0.1:${port}`
    const client = new JsonSqs({ endpoint: url, region, credentials, maxAttempts: 1 })
    onTestFinished(() => client.destroy())
    assert.equal(await refusalOf(client.listQueues({})), '403 AccessDenied')
    await assert.rejects(client.listQueues({}), /MILLRACE_ACCESS_KEYS/)
    const answer = await fetch(`${url}/openapi.json`, { headers: { 'x-api-key': apiKey } })
    assert.equal(answer.status, 200)
  })
})

describe('a server without credentials', () => {
  test.each([
    ['names another host, as a page under a name of its own does', { host: 'evil.test' }],
    ['comes from a page of another site', { 'sec-fetch-site': 'cross-site' }],
    ['comes from a page on another port', { 'sec-fetch-site': 'same-site' }],
    ['was sent by a form on a page', { origin: 'https://evil.test' }],
  ])('refuses a request that %s', async (_name, headers) => {
    const { url } = await served({})
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    const refused = await ask(url, { ...form, ...headers })
    assert.equal(refused.status, 403)
    assert.match(refused.text, /<Code>AccessDenied<\/Code>/)
    const local = { host: 'sqs.us-east-1.localhost.localstack.cloud:4566' }
    assert.equal((await ask(url, { ...form, ...local })).status, 200)
  })
})

describe('a browser on a server without credentials', () => {
  const agent = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'
  const browsers: readonly (readonly [string, Record<string, string>])[] = [
    ['from its address bar', { 'sec-fetch-site': 'none', 'sec-fetch-dest': 'document' }],
    ['that tells its name alone', { 'user-agent': agent }],
    ['that follows a link', { referer: 'https://mail.example' }],
  ]

  test.each(browsers)('%s may look by GET, but change nothing', async (_name, headers) => {
    const { url } = await served({})
    const get = (query: string, more: Record<string, string>) =>
      ask(`${url}/?${query}`, more, { method: 'GET' })
    const program = { 'user-agent': 'curl/8.14.1' }
    assert.equal((await get('Action=CreateQueue&QueueName=orders', program)).status, 200)
    const queue = `QueueUrl=${url}/000000000000/orders`
    for (const action of ['SendMessage', 'ReceiveMessage', 'PurgeQueue', 'DeleteQueue']) {
      const refused = await get(`Action=${action}&${queue}&MessageBody=x`, headers)
      assert.equal(refused.status, 403, action)
      assert.match(refused.text, /<Code>AccessDenied<\/Code>.*a browser cannot call/)
    }
    const counted = await get(`Action=GetQueueAttributes&${queue}&AttributeName=All`, headers)
    assert.match(counted.text, /<Name>ApproximateNumberOfMessages<\/Name><Value>0<\/Value>/)
    assert.match((await get('Action=ListQueues', headers)).text, /orders/)
    assert.equal((await get(`Action=SendMessage&${queue}&MessageBody=x`, program)).status, 200)
    // The `fetch` of Node is not a browser, though it sends a header of theirs.
    const sent = await fetch(`${url}/?Action=SendMessage&${queue}&MessageBody=x`)
    assert.equal(sent.status, 200)
  })
})

/** Not by `fetch`, which sets these headers itself. */
function ask(
  url: string,
  headers: Readonly<Record<string, string>>,
  { method = 'POST' } = {},
): Promise<{ readonly status: number; readonly text: string }> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers }, async (response) => {
      const text = Buffer.concat(await response.toArray()).toString()
      resolve({ status: response.statusCode ?? 0, text })
    })
    sent.once('error', reject)
    sent.end(method === 'POST' ? 'Action=CreateQueue&QueueName=attempts' : undefined)
  })
}
