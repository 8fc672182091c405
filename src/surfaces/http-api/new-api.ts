/** The frame around all routes: request ids, safe headers, one log line each, and problems. */
import { Hono, type MiddlewareHandler } from 'hono'
import { routePath } from 'hono/route'
import { type ErrorCode, errorCodes } from '../../core/error-codes.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import type { Ports } from '../../core/ports.ts'
import type { Logger } from '../../observability/logger.ts'
import type { ApiEnv } from './api-env.ts'
import { ApiProblem, answerProblem, problemFrom } from './api-problem.ts'
import { problems } from './problems.ts'

export interface ApiFrame {
  readonly log: Logger
  readonly ports: Pick<Ports, 'clock' | 'ids'>
  readonly basePath?: string
  /** Routes that a supervisor asks all the time. */
  readonly unlogged?: readonly string[]
}

/** Everything the API asks for fits in far less. */
const addressLengthMax = 4_096

const safeHeaders: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
}

export function newApi(frame: ApiFrame): Hono<ApiEnv> {
  const { log, basePath = '/' } = frame
  const api = new Hono<ApiEnv>().basePath(basePath)
  api.use(headers(frame), requestLog(frame), async (c, next) => {
    if (c.req.url.length > addressLengthMax) throw new ApiProblem('address_too_long')
    await next()
  })
  api.notFound((c) => answerProblem(c, new ApiProblem('not_found')))
  api.onError((error, c) => {
    const problem = problemFrom(error)
    if (problems[problem.code].status >= 500) {
      const fields = { request_id: c.get('requestId'), route: routePath(c, -1) }
      log.error({ ...fields, ...safeFacts(error) }, 'request failed')
    }
    return answerProblem(c, problem)
  })
  return api
}

/** What is known to carry nothing private: our own codes with their texts, or the kind of error. */
function safeFacts(error: Error): { readonly code: string; readonly error?: string } {
  if (error instanceof MillraceError) {
    const code: ErrorCode = error.code
    return { code, error: errorCodes[code].message }
  }
  return { code: error instanceof ApiProblem ? error.code : error.name }
}

function headers({ ports }: ApiFrame): MiddlewareHandler<ApiEnv> {
  return async (c, next) => {
    const given = c.req.header('x-request-id') ?? ''
    const requestId = /^[\w.-]{1,64}$/.test(given) ? given : ports.ids.next()
    c.set('requestId', requestId)
    await next()
    for (const [name, value] of Object.entries(safeHeaders)) c.header(name, value)
    c.header('x-request-id', requestId)
  }
}

/** The pattern of the route, never the address: ids and filters are nobody's business. */
function requestLog(frame: ApiFrame): MiddlewareHandler<ApiEnv> {
  const { log, ports, unlogged = [] } = frame
  return async (c, next) => {
    const startedAt = ports.clock.monotonic()
    await next()
    const route = routePath(c, -1)
    if (unlogged.includes(route)) return
    const fields = {
      method: c.req.method,
      route,
      status: c.res.status,
      duration_ms: Math.round(ports.clock.monotonic() - startedAt),
      // Nobody is known before the credentials are.
      caller: (c.get('caller') as { readonly name: string } | undefined)?.name ?? null,
      request_id: c.get('requestId'),
    }
    log.info(fields, 'request')
  }
}
