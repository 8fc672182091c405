/** Limits how often one caller may enqueue. Headers of every response state the rest. */
import type { MiddlewareHandler } from 'hono'
import type { RateLimiterMemory } from 'rate-limiter-flexible'
import type { ApiEnv } from './api-env.ts'
import type { ApiSettings } from './api-options.ts'
import { ApiProblem } from './api-problem.ts'

export function enqueueLimit({ enqueueRate }: ApiSettings): MiddlewareHandler<ApiEnv> {
  const { max, perMs } = enqueueRate
  let limiter: RateLimiterMemory | undefined
  return async (c, next) => {
    const { identity } = c.get('caller')
    // A large package with limiters for many databases, so it is loaded on first use.
    const { RateLimiterMemory, RateLimiterRes } = await import('rate-limiter-flexible')
    limiter ??= new RateLimiterMemory({ points: max, duration: perMs / 1_000 })
    // When the limit is reached, it rejects with the same type of value.
    const state = await limiter.consume(identity).catch((refusal: unknown) => refusal)
    if (!(state instanceof RateLimiterRes)) throw state
    const resetS = Math.max(1, Math.ceil(state.msBeforeNext / 1_000))
    const headers = {
      'ratelimit-limit': String(max),
      'ratelimit-remaining': String(Math.max(0, state.remainingPoints)),
      'ratelimit-reset': String(resetS),
    }
    if (state.consumedPoints > max) {
      const retryAfter = { 'retry-after': String(resetS) }
      throw new ApiProblem('rate_limited', { headers: { ...headers, ...retryAfter } })
    }
    await next()
    for (const [name, value] of Object.entries(headers)) c.header(name, value)
  }
}
