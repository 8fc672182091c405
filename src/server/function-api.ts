/**
 * Serves the HTTP routes of functions on their own port, in place of API Gateway. The listener opens when
 * there is the first route, and keeps its port while routes change.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Ports } from '../core/ports.ts'
import type { Invocation } from '../worker/lambda/function-host.ts'
import { gatewayEvent, split } from '../worker/lambda/http/gateway-event.ts'
import {
  type GatewayResponse,
  gatewayProblem,
  gatewayResponse,
} from '../worker/lambda/http/gateway-response.ts'
import {
  type HttpRoute,
  matchRoute,
  methodsFor,
  type RouteMatch,
} from '../worker/lambda/http/http-route.ts'
import { type Listener, listen } from './listen.ts'

/** A request that a function, or the gateway itself, has responded to. */
export interface RequestReport {
  readonly method: string
  readonly path: string
  /** Null if no route matched. */
  readonly function: string | null
  readonly status: number
  readonly durationMs: number
}

export interface FunctionApiSetup {
  readonly host: string
  /** 0 chooses a free port. */
  readonly port: number
  readonly account: string
  readonly ports: Ports
  /** Resolves with undefined if the signal is aborted before the function could start. */
  readonly invoke: (
    name: string,
    event: unknown,
    signal: AbortSignal,
  ) => Promise<Invocation | undefined>
  readonly onRequest: (report: RequestReport) => void
}

/** The limits of API Gateway. */
const bodyBytesMax = 10 * 1_048_576
const timeoutMs = { http: 30_000, rest: 29_000 }

export class FunctionApi {
  readonly #setup: FunctionApiSetup
  #routes: readonly HttpRoute[] = []
  #listener: Listener | undefined

  constructor(setup: FunctionApiSetup) {
    this.#setup = setup
  }

  /** Null while no function has a route. */
  get url(): string | null {
    return this.#listener?.url ?? null
  }

  /** Rejects with `address_unavailable` if the port is taken. */
  async setRoutes(routes: readonly HttpRoute[]): Promise<void> {
    this.#routes = routes
    if (routes.length === 0 || this.#listener !== undefined) return
    const { host, port, ports } = this.#setup
    this.#listener = await listen({
      host,
      port,
      timers: ports.timers,
      answer: (request, response) => void this.#answer(request, response),
    })
  }

  /** Resolves when current requests have their responses. */
  async stop(): Promise<void> {
    this.#routes = []
    await this.#listener?.close()
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { clock } = this.#setup.ports
    const startedMs = clock.monotonic()
    const { method = 'GET', url = '/' } = request
    const [path] = split(url)
    const match = matchRoute(this.#routes, method, path)
    const answer = await this.#respond(request, path, match).catch(() =>
      gatewayProblem('failed', match?.route.api ?? this.#api),
    )
    write(response, answer)
    this.#setup.onRequest({
      method,
      path,
      function: match?.route.function ?? null,
      status: answer.status,
      durationMs: clock.monotonic() - startedMs,
    })
  }

  async #respond(
    request: IncomingMessage,
    path: string,
    match: RouteMatch | undefined,
  ): Promise<GatewayResponse> {
    const isPreflight = request.method === 'OPTIONS' && match?.route.method !== 'OPTIONS'
    const preflight = isPreflight ? this.#preflight(request, path) : undefined
    if (preflight !== undefined) return preflight
    if (match === undefined) return gatewayProblem('notFound', this.#api)
    const body = await readBody(request)
    if (body === undefined) return gatewayProblem('tooLarge', match.route.api)
    return withOrigin(match.route, await this.#invoke(request, body, match))
  }

  async #invoke(
    request: IncomingMessage,
    body: Uint8Array,
    match: RouteMatch,
  ): Promise<GatewayResponse> {
    const { ports, account, invoke } = this.#setup
    const { route } = match
    const event = gatewayEvent(
      {
        method: request.method ?? 'GET',
        target: request.url ?? '/',
        rawHeaders: request.rawHeaders,
        body,
        sourceIp: request.socket.remoteAddress ?? '',
        requestId: ports.ids.next(),
        nowMs: ports.clock.now(),
        account,
      },
      match,
    )
    const waiting = new AbortController()
    const late = gatewayProblem('timedOut', route.api)
    const { promise: timeout, resolve } = Promise.withResolvers<GatewayResponse>()
    const cancel = ports.timers.after(timeoutMs[route.api], () => {
      waiting.abort()
      resolve(late)
    })
    const invoked = invoke(route.function, event, waiting.signal).then((invocation) => {
      if (invocation === undefined) return late
      const { response } = invocation
      if (response !== null) return gatewayResponse(response, route)
      return gatewayProblem('failed', route.api)
    })
    return Promise.race([invoked, timeout]).finally(cancel)
  }

  /** With CORS, the gateway responds to preflight requests itself. */
  #preflight(request: IncomingMessage, path: string): GatewayResponse | undefined {
    const open = this.#routes.filter(({ cors }) => cors)
    const methods = methodsFor(open, path)
    if (methods.length === 0) return undefined
    const asked = request.headers['access-control-request-headers']
    return {
      status: 204,
      headers: [
        allowAll,
        ['access-control-allow-methods', [...methods, 'OPTIONS'].join(',').replace('ANY', '*')],
        ['access-control-allow-headers', typeof asked === 'string' ? asked : '*'],
      ],
      body: '',
    }
  }

  /** The kind of API that responds when no route matches. */
  get #api(): HttpRoute['api'] {
    return this.#routes.every(({ api }) => api === 'rest') ? 'rest' : 'http'
  }
}

const allowAll = ['access-control-allow-origin', '*'] as const

/** An HTTP API adds the header itself. In a REST API the function must. */
function withOrigin({ api, cors }: HttpRoute, answer: GatewayResponse): GatewayResponse {
  if (api === 'rest' || !cors) return answer
  const others = answer.headers.filter(([name]) => name.toLowerCase() !== allowAll[0])
  return { ...answer, headers: [...others, allowAll] }
}

function write(response: ServerResponse, { status, headers, body }: GatewayResponse): void {
  response.statusCode = status
  for (const [name, value] of headers) {
    try {
      response.appendHeader(name, value)
    } catch {
      // A header that HTTP does not allow: API Gateway drops it too.
    }
  }
  response.end(body)
}

/** Undefined if it is larger than API Gateway allows. */
async function readBody(request: IncomingMessage): Promise<Uint8Array | undefined> {
  const parts: Buffer[] = []
  let bytes = 0
  // The response must still be written to a request that is too large.
  for await (const part of request.iterator({ destroyOnReturn: false })) {
    bytes += part.length
    if (bytes > bodyBytesMax) return undefined
    parts.push(part)
  }
  return Buffer.concat(parts)
}
