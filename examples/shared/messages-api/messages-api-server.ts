/**
 * A server on this machine that speaks the protocol of Anthropic's Messages API, so that examples run
 * without a network and without an account. It checks requests as the service does, answers in its shapes,
 * counts tokens roughly, and fails on demand in its ways. Each example brings the judgement behind the answers.
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
/** Of the protocol; what this server answers is the same in both. */
const versions: readonly string[] = ['2023-06-01', '2026-10-21']

type ErrorStatus = keyof typeof errorTypes

export type FailureStatus = Exclude<ErrorStatus, 400 | 404>

/** The input of the tool that must be called, and what is said when none must be. */
export interface Judgement {
  readonly input: object
  readonly text: string
}

export interface MessagesApiSetup {
  /** 0 for any that is free. */
  readonly port: number
  readonly judge: (request: MessagesRequest) => Judgement | Promise<Judgement>
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

  /** The requests that were in order, oldest first, also those that were then failed on demand. */
  get requests(): readonly MessagesRequest[] {
    return this.#requests
  }

  /** The next requests fail like this. */
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
    const { input, text } = await this.#setup.judge(request)
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
