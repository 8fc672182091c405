import type { MiddlewareHandler } from 'hono'
import type { ApiEnv } from './api-env.ts'
import { ApiProblem } from './api-problem.ts'

/** What is about the whole system, and not about anybody's own jobs. */
export const adminsOnly: MiddlewareHandler<ApiEnv> = async (c, next) => {
  if (c.get('caller').role !== 'admin') throw new ApiProblem('forbidden')
  await next()
}
