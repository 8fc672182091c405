/**
 * A local server with the protocol of Anthropic's Messages API, so examples run without a network or an
 * account. It validates requests, returns responses and errors in the same shapes, counts tokens roughly, and
 * fails on demand. Each example supplies the content of the replies.
 */
import { randomUUID } from 'node:crypto'
import { type Context, Hono } from 'hono'
import { LocalServer } from '../local-server.ts'
import { MessagesRequest } from './messages-request.ts'
import { PromptCache } from './prompt-cache.ts'

const errorTypes = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  429: 'rate_limit_error',
  500: 'api_error',
  529: 'overloaded_error',
} as const
/** Protocol versions. The responses here are the same for both. */
const versions: readonly string[] = ['2023-06-01', '2026-10-21']

type ErrorStatus = keyof typeof errorTypes

export type FailureStatus = Exclude<ErrorStatus, 400 | 404>

/** `input` is for the tool that the request forces; `text` is used if it forces none. */
export interface StubReply {
  readonly input: object
  readonly text: string
}

export interface MessagesApiSetup {
  /** 0 for any free port. */
  readonly port: number
  readonly reply: (request: MessagesRequest) => StubReply | Promise<StubReply>
}

export class MessagesApiServer implements AsyncDisposable {
  readonly #setup: MessagesApiSetup
  readonly #server: LocalServer
  readonly #cache = new PromptCache()
  readonly #failures: FailureStatus[] = []
  readonly #requests: MessagesRequest[] = []

  protected constructor(setup: MessagesApiSetup) {
    this.#setup = setup
    this.#server = new LocalServer(this.#app().fetch, setup.port)
  }

  protected async listening(): Promise<this> {
    await this.#server.listening()
    return this
  }

  get url(): string {
    return this.#server.url
  }

  /** The valid requests, oldest first, including those that failed on demand. */
  get requests(): readonly MessagesRequest[] {
    return this.#requests
  }

  /** Makes the next requests fail with these statuses. */
  failNext(...statuses: readonly FailureStatus[]): void {
    this.#failures.push(...statuses)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server[Symbol.asyncDispose]()
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
      if (failure !== undefined) return refusal(c, failure, 'on demand')
      return c.json(await this.#answerTo(request.data), 200, id())
    })
    app.notFound((c) => refusal(c, 404, 'Not found'))
    return app
  }

  async #answerTo(request: MessagesRequest): Promise<object> {
    const { model, tool_choice: choice } = request
    const { input, text } = await this.#setup.reply(request)
    const content =
      choice?.type === 'tool'
        ? { type: 'tool_use', id: `toolu_${randomUUID()}`, name: choice.name, input }
        : { type: 'text', text }
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
      usage: {
        ...this.#cache.count(request, Date.now()),
        output_tokens: Math.ceil(JSON.stringify(content).length / 4),
      },
    }
  }
}

/** The header with the key depends on the client's version. */
function hasKey({ req }: Context): boolean {
  return Boolean(req.header('x-api-key')) || /^Bearer \S/.test(req.header('authorization') ?? '')
}

const id = (): Record<string, string> => ({ 'request-id': `req_${randomUUID()}` })

function refusal(c: Context, status: ErrorStatus, message: string): Response {
  const headers = { ...id(), ...(status === 429 ? { 'retry-after': '0' } : {}) }
  const body = { type: 'error', error: { type: errorTypes[status], message } }
  // Hono's types do not include 529.
  return c.json(body, { status: status as 500, headers })
}
