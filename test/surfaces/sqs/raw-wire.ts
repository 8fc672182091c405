/** A server in this process, asked by hand: what stands on the wire, without a client in between. */
import { afterAll, beforeAll } from 'vitest'
import { type RunningServer, type ServeOptions, serve } from '../../../src/server.ts'
import { virtualPorts } from '../../../src/testing/virtual-clock.ts'
import { type TemporaryFolder, temporaryFolder } from '../../support/temporary-folder.ts'

export interface RawAnswer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

export interface JsonAnswer extends RawAnswer {
  // Tests look into it as they like; a wrong guess fails them.
  // biome-ignore lint/suspicious/noExplicitAny: the form is what the tests are about
  readonly body: any
}

export interface QueryOptions {
  readonly method?: string
  /** Default: `/`. */
  readonly path?: string
  readonly headers?: Readonly<Record<string, string>>
}

export interface RawWire {
  readonly server: RunningServer
  readonly url: string
  /** Moves only when told to. */
  readonly clock: ReturnType<typeof virtualPorts>['clock']
  json(
    action: string,
    input?: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<JsonAnswer>
  /** A form by POST, or an address by GET. */
  query(parameters: Readonly<Record<string, string>>, options?: QueryOptions): Promise<RawAnswer>
  fetch(path: string, init?: RequestInit): Promise<RawAnswer>
  /** A new queue's URL. */
  create(
    name: string,
    attributes?: Readonly<Record<string, string>>,
    headers?: Readonly<Record<string, string>>,
  ): Promise<string>
}

export const jsonType = 'application/x-amz-json-1.0'

/** What clients sign with; without access keys nobody looks at the signature. */
export function signedBy(accessKeyId: string, region = 'us-east-1'): Record<string, string> {
  const credential = `${accessKeyId}/20260101/${region}/sqs/aws4_request`
  const parts = `Credential=${credential}, SignedHeaders=host;x-amz-date, Signature=00`
  return { authorization: `AWS4-HMAC-SHA256 ${parts}` }
}

export function rawWire(options: ServeOptions = {}): RawWire {
  let folder: TemporaryFolder
  let server: RunningServer
  const ports = virtualPorts()
  beforeAll(async () => {
    folder = await temporaryFolder('wire')
    server = await serve({ port: 0, data: folder.path, ports, ...options })
  })
  afterAll(async () => {
    await server.stop()
    await folder.remove()
  })
  const wire: RawWire = {
    get server() {
      return server
    },
    get url() {
      return server.url
    },
    clock: ports.clock,
    async json(action, input = {}, headers = {}) {
      const answer = await wire.fetch('/', {
        method: 'POST',
        headers: { 'content-type': jsonType, 'x-amz-target': `AmazonSQS.${action}`, ...headers },
        body: typeof input === 'string' ? input : JSON.stringify(input),
      })
      return { ...answer, body: JSON.parse(answer.text) }
    },
    query(parameters, { method = 'POST', path = '/', headers = {} } = {}) {
      const form = new URLSearchParams(parameters)
      if (method === 'GET') return wire.fetch(`${path}?${form}`, { headers })
      return wire.fetch(path, { method, headers, body: form })
    },
    async fetch(path, init) {
      const response = await fetch(server.url + path, init)
      const { status, headers } = response
      return { status, headers, text: await response.text() }
    },
    async create(name, attributes = {}, headers = {}) {
      const created = await wire.json(
        'CreateQueue',
        { QueueName: name, Attributes: attributes },
        headers,
      )
      return created.body.QueueUrl
    },
  }
  return wire
}
