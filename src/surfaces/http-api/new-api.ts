/** Shared by all routes: request ids, security headers, one log line per request, and error responses. */
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
  /** Routes that are polled and would fill the log. */
  readonly unlogged?: readonly string[]
}

/** Far more than any valid request needs. */
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

/** The parts of an error without private data: our own codes and texts, or the class of the error. */
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

/** Logs the pattern of the route, never the path: ids and filters can be private. */
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
      // Undefined before authentication.
      caller: (c.get('caller') as { readonly name: string } | undefined)?.name ?? null,
      request_id: c.get('requestId'),
    }
    log.info(fields, 'request')
  }
}
