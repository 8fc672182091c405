/** Keeps web pages away from an API without credentials, which trusts every program on this machine. */
import type { MiddlewareHandler } from 'hono'
import { isLocalRequest } from '../local-request.ts'
import type { ApiEnv } from './api-env.ts'
import { ApiProblem } from './api-problem.ts'

export const localOnly: MiddlewareHandler<ApiEnv> = async (c, next) => {
  const source = {
    host: new URL(c.req.url).host,
    origin: c.req.header('origin'),
    fetchSite: c.req.header('sec-fetch-site'),
  }
  if (!isLocalRequest(source)) throw new ApiProblem('forbidden')
  await next()
}
