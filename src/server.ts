/**
 * `millrace/server`: the server as a library, and its HTTP API for other servers. This file passes the
 * surfaces to the server.
 */
import './app/require-node.ts'
import type { RequestListener } from 'node:http'
import { type OptionNames, refuseUnknownOptions } from './core/options.ts'
import { type DevOptions as DevServerOptions, type RunningDev, startDevWith } from './server/dev.ts'
import { type RunningServer, type ServerOptions, serveWith } from './server/serve.ts'
import { type HttpApiOptions, httpApi } from './surfaces/http-api/http-api.ts'
import type { Services } from './surfaces/services.ts'
import type { AccessKey } from './surfaces/sqs-protocol/access/access-keys.ts'
import { type SqsWireOptions, sqsWire } from './surfaces/sqs-protocol/sqs-wire.ts'

export type { ConnectionOptions } from './server/connection-limits.ts'
export type { RunningDev } from './server/dev.ts'
export type { RunningServer, ServerOptions } from './server/serve.ts'
export type { ApiKey } from './surfaces/http-api/api-keys.ts'
export type { ApiOptions, EnqueueRate, JobsApiOptions } from './surfaces/http-api/api-options.ts'
export { authFromEnvironment } from './surfaces/http-api/auth-from-environment.ts'
export type { ApiAuth } from './surfaces/http-api/authenticate.ts'
export type { Role } from './surfaces/http-api/caller.ts'
export { createJobsApi, type JobsApi } from './surfaces/http-api/jobs-api.ts'
export type { JwtAuth } from './surfaces/http-api/json-web-tokens.ts'
export { credentialsFromEnvironment } from './surfaces/sqs-protocol/access/credentials-from-environment.ts'
export type { AccessKey }

export interface ServeOptions extends ServerOptions, HttpApiOptions, SqsWireOptions {}

/** Starts a server on a store. Resolves once it accepts requests. */
export async function serve(options: ServeOptions = {}): Promise<RunningServer> {
  refuseUnknownOptions(options, serveOptions)
  const setup = { ...options, hasCredentials: hasCredentials(options) }
  return serveWith((services) => surfacesOf(services, options), setup)
}

export interface DevOptions
  extends DevServerOptions,
    Pick<HttpApiOptions, 'auth'>,
    Pick<SqsWireOptions, 'accessKeys'> {}

/** Starts a server with the queues of templates and the functions that consume them. */
export async function startDev(options: DevOptions = {}): Promise<RunningDev> {
  refuseUnknownOptions(options, devOptions)
  const credentials = keyOfFunctions(options)
  return startDevWith((services) => surfacesOf(services, options), {
    ...options,
    hasCredentials: hasCredentials(options),
    ...(credentials !== undefined && { credentials }),
  })
}

const sharedOptions = {
  host: true,
  port: true,
  store: true,
  data: true,
  stage: true,
  log: true,
  ports: true,
  auth: true,
  region: true,
  account: true,
  cooldowns: true,
  accessKeys: true,
} as const

const serveOptions: OptionNames<ServeOptions> = {
  ...sharedOptions,
  app: true,
  connections: true,
  userQueues: true,
  bodyBytesMax: true,
  bodyTimeout: true,
  enqueueRate: true,
  streamsPerCaller: true,
}

const devOptions: OptionNames<DevOptions> = {
  ...sharedOptions,
  templates: true,
  parameters: true,
  options: true,
  environment: true,
  onUp: true,
  onProblems: true,
  onLogLine: true,
  onInvocation: true,
  onRequest: true,
  apiPort: true,
}

/** JavaScript callers may also pass `'none'`. */
function hasCredentials({ auth, accessKeys }: Pick<ServeOptions, 'auth' | 'accessKeys'>): boolean {
  return typeof auth === 'object' || accessKeys !== undefined
}

/** Prefers a key of the same account, so that functions find the queues of their template by name. */
function keyOfFunctions({ accessKeys = [], account }: DevOptions): AccessKey | undefined {
  const own = accessKeys.find((key) => key.account === undefined || key.account === account)
  return own ?? accessKeys[0]
}

/** One listener for both surfaces: SQS requests go to the SQS endpoint, all others to the HTTP API. */
function surfacesOf(services: Services, options: ServeOptions): RequestListener {
  const { accessKeys, auth, log } = options
  const wire = sqsWire(services, options)
  const api = httpApi(services, options)
  const isApiOpen = typeof auth !== 'object' && !services.isPublic
  if (accessKeys !== undefined && isApiOpen) warnOfOpenApi(log)
  return (request, response) => {
    if (wire.accepts(request, api.owns)) wire.answer(request, response)
    else api.answer(request, response)
  }
}

const openApiWarning =
  'The HTTP API is open to every program on this machine: access keys protect only the SQS endpoint. ' +
  'Set MILLRACE_API_KEYS (name:role:key) or MILLRACE_JWT_SECRET, or pass auth to serve().'

function warnOfOpenApi(log: ServeOptions['log']): void {
  const kind = 'http_api_open'
  if (log !== undefined) log.warn({ kind }, openApiWarning)
  else process.emitWarning(openApiWarning, { type: 'MillraceWarning', code: kind })
}
