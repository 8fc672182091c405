/** Health checks: whether the process is alive, and whether it can use its store. */
import type { Context, Hono } from 'hono'
import { describeRoute } from 'hono-openapi'
import { MillraceError } from '../../core/millrace-error.ts'
import { version } from '../../version.ts'
import type { Services } from '../services.ts'
import type { ApiEnv } from './api-env.ts'
import { operations } from './openapi-operations.ts'

export type Probes = Pick<Services, 'ready' | 'stopping'>

export const probePaths: readonly string[] = ['/healthz', '/readyz']

export function probeRoutes(api: Hono<ApiEnv>, { ready, stopping }: Probes): void {
  api.get('/healthz', describeRoute(operations.alive), (c) => c.json({ status: 'ok', version }))

  api.get('/readyz', describeRoute(operations.ready), async (c) => {
    if (stopping.aborted) return notReady(c, 'stopping', 'The server is stopping.')
    try {
      await ready()
      return c.json({ status: 'ok' })
    } catch (error) {
      // Only our own texts are known to contain no private data.
      return error instanceof MillraceError
        ? notReady(c, error.code, error.message)
        : notReady(c, 'internal', 'The store could not be checked.')
    }
  })
}

function notReady(c: Context<ApiEnv>, code: string, message: string): Response {
  return c.json({ status: 'unavailable', error: { code, message } }, 503)
}
