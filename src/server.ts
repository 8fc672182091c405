/**
 * `millrace/server`: the server as a library, and its HTTP API for other servers. This file joins the
 * ways in to the store; everything else is in the folders it names.
 */
import { type RunningServer, type ServerOptions, serveWith } from './config/serve.ts'
import { type HttpApiOptions, httpApi } from './surfaces/http-api/http-api.ts'

export type { RunningServer, ServerOptions } from './config/serve.ts'
export type { ApiKey } from './surfaces/http-api/api-keys.ts'
export type { ApiOptions, EnqueueRate, JobsApiOptions } from './surfaces/http-api/api-options.ts'
export { authFromEnvironment } from './surfaces/http-api/auth-from-environment.ts'
export type { ApiAuth } from './surfaces/http-api/authenticate.ts'
export type { Role } from './surfaces/http-api/caller.ts'
export { createJobsApi, type JobsApi } from './surfaces/http-api/jobs-api.ts'
export type { JwtAuth } from './surfaces/http-api/json-web-tokens.ts'

export interface ServeOptions extends ServerOptions, HttpApiOptions {}

/** Starts a server on the embedded store. Answers once it accepts requests. */
export function serve(options: ServeOptions = {}): Promise<RunningServer> {
  // Without types, `'none'` may arrive here as well.
  const hasCredentials = typeof options.auth === 'object'
  return serveWith((services) => httpApi(services, options), { ...options, hasCredentials })
}
