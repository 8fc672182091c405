/** A server that is told nonsense, and what must hold for whatever it answers. */
import assert from 'node:assert/strict'
import { Agent, request } from 'node:http'
import { onTestFinished } from 'vitest'
import { silentLogger } from '../../../src/observability/logger.ts'
import { serve } from '../../../src/server.ts'
import { readXml, textAt } from '../../support/read-xml.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { jsonType } from './raw-wire.ts'

export interface Nonsense {
  readonly method?: string
  readonly path?: string
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  readonly body?: string | Uint8Array
  /** Sent in these pieces, without saying how long it is. */
  readonly isChunked?: boolean
}

export interface Answer {
  readonly status: number
  readonly contentType: string
  readonly queryError: string | undefined
  readonly requestId: string | undefined
  readonly text: string
}

export interface FuzzScene {
  readonly url: string
  readonly queueUrl: string
  readonly fifoUrl: string
  /** The answer, after it was seen to be one that AWS could have given. */
  tell(nonsense: Nonsense): Promise<Answer>
  /** The names of the refusal: the type in JSON, the code in XML. */
  refusalOf(nonsense: Nonsense): Promise<string>
  assertStillServes(): Promise<void>
}

export const formType = 'application/x-www-form-urlencoded'

export function jsonCall(action: string, input: unknown): Nonsense {
  return jsonText(action, JSON.stringify(input))
}

export function jsonText(action: string, body: string | Uint8Array): Nonsense {
  const headers = { 'content-type': jsonType, 'x-amz-target': `AmazonSQS.${action}` }
  return { headers, body }
}

export function form(body: string | Uint8Array): Nonsense {
  return { headers: { 'content-type': formType }, body }
}

/** Longer than anything but a long poll takes. */
const hangMs = 100_000

export async function fuzzScene(): Promise<FuzzScene> {
  const folder = await temporaryFolder('fuzz')
  const failures: unknown[] = []
  const log = { ...silentLogger, error: (fields: object) => void failures.push(fields) }
  const server = await serve({ port: 0, data: folder.path, cooldowns: false, log })
  const agent = new Agent({ keepAlive: true })
  onTestFinished(async () => {
    agent.destroy()
    await server.stop()
    await folder.remove()
  })
  const send = (nonsense: Nonsense): Promise<Answer> => ask(server.url, agent, nonsense)
  const create = async (QueueName: string, Attributes = {}): Promise<string> => {
    const answer = await send(jsonCall('CreateQueue', { QueueName, Attributes }))
    return JSON.parse(answer.text).QueueUrl
  }
  const queueUrl = await create('nonsense')
  const fifoUrl = await create('nonsense.fifo', { FifoQueue: 'true' })
  const tell = async (nonsense: Nonsense): Promise<Answer> => {
    const answer = await send(nonsense)
    assertAwsShaped(answer)
    assert.deepEqual(failures, [])
    return answer
  }
  return {
    url: server.url,
    queueUrl,
    fifoUrl,
    tell,
    async refusalOf(nonsense) {
      const answer = await tell(nonsense)
      assert.notEqual(answer.status, 200, answer.text)
      return refusalIn(answer)
    },
    async assertStillServes() {
      const QueueUrl = await create('afterwards')
      await tell(jsonCall('SendMessage', { QueueUrl, MessageBody: 'sense' }))
      const { text } = await tell(jsonCall('ReceiveMessage', { QueueUrl }))
      assert.equal(JSON.parse(text).Messages[0].Body, 'sense')
    },
  }
}

function ask(url: string, agent: Agent, nonsense: Nonsense): Promise<Answer> {
  const { method = 'POST', path = '/', headers = {}, body = '', isChunked = false } = nonsense
  const bytes = Buffer.from(body)
  const length = isChunked ? { 'transfer-encoding': 'chunked' } : { 'content-length': bytes.length }
  return new Promise((resolve, reject) => {
    const options = { method, path, agent, headers: { ...headers, ...length } }
    const signal = AbortSignal.timeout(hangMs)
    // The types want lists that can be changed.
    const sent = request(url, { ...options, signal } as object, async (response) => {
      const text = Buffer.concat(await response.toArray()).toString()
      const { statusCode: status = 0, headers: said } = response
      const one = (name: string): string | undefined => said[name]?.toString()
      resolve({
        status,
        contentType: one('content-type') ?? '',
        queryError: one('x-amzn-query-error'),
        requestId: one('x-amzn-requestid'),
        text,
      })
    })
    sent.once('error', reject)
    const half = Math.floor(bytes.length / 2)
    if (isChunked) sent.write(bytes.subarray(0, half))
    sent.end(isChunked ? bytes.subarray(half) : bytes)
  })
}

export function assertAwsShaped(answer: Answer): void {
  const { status, requestId, text } = answer
  assert.ok(status === 200 || (status >= 400 && status < 500), `${status}: ${text}`)
  assert.match(requestId ?? '', /^[\w-]{36}$/)
  if (status === 200) assertReadable(answer)
  else assert.match(refusalIn(answer), /^[\w.]+$/)
}

function assertReadable({ contentType, text }: Answer): void {
  if (contentType === 'text/xml') assert.match(readXml(text).name, /^\w+Response$/)
  else {
    assert.ok([jsonType, 'application/json'].includes(contentType), contentType)
    JSON.parse(text)
  }
}

function refusalIn({ status, contentType, queryError, text }: Answer): string {
  if (contentType === jsonType) {
    const { __type: type, message } = JSON.parse(text)
    const [, space = '', name = ''] = /^(com\.amazon[\w.]+)#(\w+)$/.exec(type) ?? []
    assert.ok(message === undefined || typeof message === 'string')
    if (space === 'com.amazonaws.sqs') assert.match(queryError ?? '', /^[\w.]+;Sender$/)
    return name
  }
  if (contentType === 'application/json') {
    const { Error: error, RequestId: id } = JSON.parse(text)
    assert.ok(typeof id === 'string')
    return error.Code
  }
  assert.equal(contentType, 'text/xml', text)
  const document = readXml(text)
  if (document.name === 'UnknownOperationException') {
    assert.equal(status, 404)
    return document.name
  }
  assert.equal(textAt(document, 'Error', 'Type'), 'Sender')
  assert.ok(textAt(document, 'RequestId'))
  return textAt(document, 'Error', 'Code') ?? ''
}
