/** An HTTP server between a carrier and an SQS server: counts actions, and fails or holds them for a test. */
import {
  createServer,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'

export interface WatchedCall {
  readonly action: string
  /** The JSON of the request. */
  readonly input: Readonly<Record<string, unknown>>
}

/** A response instead of that of the server; undefined to ask the server. */
export interface Refusal {
  readonly status: number
  readonly code: string
  readonly message?: string
}

export interface WatchedServer {
  readonly url: string
  readonly calls: WatchedCall[]
  /** Called before a request is passed on, and waited for. */
  before: (call: WatchedCall) => Promise<Refusal | object | undefined> | undefined
  /** Called with the response of the server, which is passed on when this resolves. */
  after: (call: WatchedCall) => Promise<void> | undefined
  reset(): void
  /** Entries of each call of this action. */
  entriesOf(action: string): readonly number[]
  close(): Promise<void>
}

export async function watchedServer(target: string): Promise<WatchedServer> {
  const server = createServer((incoming, response) => {
    void pass(incoming, response).catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const pass = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = Buffer.concat(await incoming.toArray())
    const call = {
      action: String(incoming.headers['x-amz-target']).replace('AmazonSQS.', ''),
      input: JSON.parse(body.toString()) as Record<string, unknown>,
    }
    watched.calls.push(call)
    const given = await watched.before(call)
    if (given !== undefined) return respond(response, given)
    const [passed, text] = await forward(incoming, { body, target })
    await watched.after(call)
    response.writeHead(passed.statusCode ?? 500, passed.headers).end(text)
  }
  const watched: WatchedServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls: [],
    before: () => undefined,
    after: () => undefined,
    reset() {
      watched.calls.length = 0
      watched.before = () => undefined
      watched.after = () => undefined
    },
    entriesOf: (action) =>
      watched.calls
        .filter((call) => call.action === action)
        .map(({ input }) => (input['Entries'] as readonly unknown[]).length),
    close: () => closed(server),
  }
  return watched
}

function respond(response: ServerResponse, given: Refusal | object): void {
  const type = { 'content-type': 'application/x-amz-json-1.0' }
  if (!('status' in given) || !('code' in given)) {
    response.writeHead(200, type).end(JSON.stringify(given))
    return
  }
  const { status, code, message = 'as the test wants it' } = given as Refusal
  response
    .writeHead(status, { ...type, 'x-amzn-query-error': `${code};Sender` })
    .end(JSON.stringify({ __type: `com.amazonaws.sqs#${code}`, message }))
}

function forward(
  { method = 'POST', url = '/', headers }: IncomingMessage,
  { body, target }: { readonly body: Buffer; readonly target: string },
): Promise<readonly [IncomingMessage, Buffer]> {
  return new Promise((resolve, reject) => {
    const outgoing = request(new URL(url, target), { method, headers }, async (passed) => {
      resolve([passed, Buffer.concat(await passed.toArray())])
    })
    outgoing.on('error', reject).end(body)
  })
}

function closed(server: Server): Promise<void> {
  server.closeAllConnections()
  return new Promise((resolve) => server.close(() => resolve()))
}
