/**
 * The API of the backend, as a Lambda function behind an HTTP API and as a local server. The gateway in front of
 * it authenticates callers; it is not part of the example.
 */
import { randomUUID } from 'node:crypto'
import { SQSServiceException } from '@aws-sdk/client-sqs'
import { Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { HTTPException } from 'hono/http-exception'
import { MillraceError } from 'millrace'
import type { QueueSender } from '../open-backend.ts'
import type { Stores } from '../stores/stores.ts'
import { attemptRoutes } from './attempt-routes.ts'
import { guideRoutes } from './guide-routes.ts'
import { itemRoutes } from './item-routes.ts'
import { problem } from './requests.ts'

export interface ApiParts {
  readonly stores: Stores
  readonly sender: QueueSender
}

export interface ApiTypes {
  readonly Variables: { readonly traceId: string }
}

const bodyBytesMax = 64 * 1024

export function createApi(parts: ApiParts): Hono<ApiTypes> {
  const app = new Hono<ApiTypes>()
  app.use(
    bodyLimit({ maxSize: bodyBytesMax, onError: () => problem('invalid_request').getResponse() }),
  )
  app.use(async (c, next) => {
    const traceId = c.req.header('x-trace-id') ?? ''
    c.set('traceId', /^[\w.=:-]{1,128}$/.test(traceId) ? traceId : randomUUID())
    await next()
  })
  app.get('/healthz', (c) => c.json({ status: 'ok' }))
  for (const routes of [attemptRoutes, guideRoutes, itemRoutes]) app.route('/', routes(parts))
  app.notFound(() => problem('not_found').getResponse())
  app.onError((error) => problemOf(error).getResponse())
  return app
}

function problemOf(error: Error): HTTPException {
  if (error instanceof HTTPException) return error
  if (error instanceof MillraceError && error.code === 'invalid_message') {
    const issues = error.violations.map(({ field, allowed }) => ({ path: field, message: allowed }))
    return problem('invalid_message', issues)
  }
  console.error(`request failed: ${error.name}: ${error.message}`)
  const isQueueTrouble = error instanceof SQSServiceException || 'code' in error
  return problem(isQueueTrouble ? 'unavailable' : 'internal')
}
