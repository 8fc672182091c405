/**
 * A server on this machine that speaks the protocol of Anthropic's Messages API, so that the example
 * runs without a network and without an account. It checks requests as the service does, answers in its
 * shapes, and fails on demand in its ways. The judgement behind the answers is a few lines of arithmetic.
 */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { type ServerType, serve } from '@hono/node-server'
import { type Context, Hono } from 'hono'
import { judgeWork } from './judge-work.ts'
import { MessagesRequest, textOf } from './messages-request.ts'

const errorTypes = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  404: 'not_found_error',
  429: 'rate_limit_error',
  500: 'api_error',
  529: 'overloaded_error',
} as const
/** Of the protocol; what this server answers is the same in both. */
const versions: readonly string[] = ['2023-06-01', '2026-10-21']

type ErrorStatus = keyof typeof errorTypes

export type FailureStatus = Extract<ErrorStatus, 429 | 500 | 529>

export class ClaudeStandIn implements AsyncDisposable {
  readonly #server: ServerType
  readonly #failures: FailureStatus[] = []
  readonly #requests: MessagesRequest[] = []

  private constructor(port: number) {
    this.#server = serve({ fetch: this.#app().fetch, hostname: '127.0.0.1', port })
  }

  /** On any free port, unless one is given. */
  static async start(port = 0): Promise<ClaudeStandIn> {
    const standIn = new ClaudeStandIn(port)
    await once(standIn.#server, 'listening')
    return standIn
  }

  get url(): string {
    // A server that listens on a port has such an address.
    const { port } = this.#server.address() as AddressInfo
    return `http://127.0.0.1:${port}`
  }

  /** The requests that were in order, oldest first, also those that were then failed on demand. */
  get requests(): readonly MessagesRequest[] {
    return this.#requests
  }

  /** The next requests fail like this. */
  failNext(...statuses: readonly FailureStatus[]): void {
    this.#failures.push(...statuses)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close()
    if ('closeAllConnections' in this.#server) this.#server.closeAllConnections()
    await once(this.#server, 'close')
  }

  #app(): Hono {
    const app = new Hono()
    app.post('/v1/messages', async (c) => {
      if (!hasKey(c)) return refusal(c, 401, 'x-api-key or Authorization header is required')
      if (!versions.includes(c.req.header('anthropic-version') ?? '')) {
        return refusal(c, 400, `anthropic-version: one of ${versions.join(', ')} is required`)
      }
      const request = MessagesRequest.safeParse(await c.req.json().catch(() => undefined))
      if (!request.success) {
        const [issue] = request.error.issues
        return refusal(c, 400, `${issue?.path.join('.')}: ${issue?.message}`)
      }
      this.#requests.push(request.data)
      const failure = this.#failures.shift()
      return failure ? refusal(c, failure, 'on demand') : c.json(answerTo(request.data), 200, id())
    })
    app.notFound((c) => refusal(c, 404, 'Not found'))
    return app
  }
}

/** Clients have sent the key in the one header or in the other, by their version. */
function hasKey({ req }: Context): boolean {
  return Boolean(req.header('x-api-key')) || /^Bearer \S/.test(req.header('authorization') ?? '')
}

const id = (): Record<string, string> => ({ 'request-id': `req_${randomUUID()}` })

function refusal(c: Context, status: ErrorStatus, message: string): Response {
  const headers = { ...id(), ...(status === 429 ? { 'retry-after': '0' } : {}) }
  const body = { type: 'error', error: { type: errorTypes[status], message } }
  // Hono's types know no 529.
  return c.json(body, { status: status as 500, headers })
}

function answerTo(request: MessagesRequest): object {
  const { model, tool_choice: choice } = request
  const text = textOf(request)
  const judgement = judgeWork(text)
  const content =
    choice?.type === 'tool'
      ? { type: 'tool_use', id: `toolu_${randomUUID()}`, name: choice.name, input: judgement }
      : { type: 'text', text: judgement.error_code }
  return {
    id: `msg_${randomUUID()}`,
    type: 'message',
    role: 'assistant',
    model,
    content: [content],
    stop_reason: choice?.type === 'tool' ? 'tool_use' : 'end_turn',
    stop_sequence: null,
    stop_details: null,
    container: null,
    diagnostics: null,
    usage: { input_tokens: Math.ceil(text.length / 4), output_tokens: 16 },
  }
}
