/** The API: uploads, the status of documents, and search. It never runs a stage itself. */
import { type Context, Hono, type MiddlewareHandler } from 'hono'
import type { Logger } from 'millrace'
import type { Caller, Callers } from '../callers.ts'
import type { Ingestion } from '../open-ingestion.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { cacheRoutes } from './cache-routes.ts'
import { documentRoutes } from './document-routes.ts'
import { objectRoutes } from './object-routes.ts'
import { uploadRoutes } from './upload-routes.ts'

export interface ApiSetup
  extends Pick<
    Ingestion,
    | 'library'
    | 'embedder'
    | 'uploads'
    | 'cache'
    | 'uploadFolder'
    | 'signer'
    | 'mill'
    | 'environment'
    | 'log'
  > {
  readonly callers: Callers
  readonly runtime: Runtime
  /** Default 100 MB. */
  readonly uploadBytesMax?: number
}

export interface ApiEnv {
  readonly Variables: { readonly caller: Caller }
}

export function createApi(setup: ApiSetup): Hono<ApiEnv> {
  const app = new Hono<ApiEnv>()
  app.get('/healthz', (c) => c.json({ status: 'ok' }))
  objectRoutes(app, setup)
  app.use('/api/*', authenticate(setup.callers))
  app.use('/api/kb/:kbId/*', ownKnowledgeBase(setup))
  uploadRoutes(app, setup)
  documentRoutes(app, setup)
  cacheRoutes(app, setup)
  app.notFound(missing)
  app.onError((error, c) => answerFailure(c, setup.log, error))
  return app
}

export function refusal(c: Context, status: RefusalStatus, error: string): Response {
  return c.json({ error }, status)
}

export type RefusalStatus = 400 | 401 | 403 | 404 | 409 | 413 | 415

export function missing(c: Context): Response {
  return refusal(c, 404, 'Not found.')
}

/** Logs the name and code of an error and not its message, which may contain user data. */
function answerFailure(c: Context, log: Logger, error: Error): Response {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined
  log.error({ name: error.name, code, path: c.req.routePath }, 'request failed')
  return c.json({ error: 'The request failed.' }, 500)
}

function authenticate(callers: Callers): MiddlewareHandler<ApiEnv> {
  return async (c, next) => {
    const caller = await callers.callerOf(c.req.header('authorization'))
    if (caller === undefined) {
      c.header('WWW-Authenticate', 'Bearer')
      return refusal(c, 401, 'A valid token is required.')
    }
    c.set('caller', caller)
    await next()
    return undefined
  }
}

/** A knowledge base of another organisation looks as if it did not exist. */
function ownKnowledgeBase({ library }: Pick<ApiSetup, 'library'>): MiddlewareHandler<ApiEnv> {
  return async (c, next) => {
    const { organizationId } = c.get('caller')
    if (!(await library.owns(organizationId, c.req.param('kbId') ?? ''))) {
      return refusal(c, 404, 'Your organisation has no such knowledge base.')
    }
    await next()
    return undefined
  }
}
