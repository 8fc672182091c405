/**
 * Without credentials the server trusts whoever reaches it, and a browser on this machine reaches it
 * for any page it has open. So requests must name this machine as their host, which a page under
 * another name cannot do, and must not come from another site.
 */
import type { MiddlewareHandler } from 'hono'
import { isLoopback } from '../../config/loopback.ts'
import type { ApiEnv } from './api-env.ts'
import { ApiProblem } from './api-problem.ts'

export const localOnly: MiddlewareHandler<ApiEnv> = async (c, next) => {
  const { hostname } = new URL(c.req.url)
  const isForeignPage = c.req.header('sec-fetch-site') === 'cross-site'
  // An IPv6 address stands in brackets.
  if (!isLoopback(hostname.replace(/^\[|\]$/g, '')) || isForeignPage) {
    throw new ApiProblem('forbidden')
  }
  await next()
}
