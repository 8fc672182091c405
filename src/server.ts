/**
 * `millrace/server`: the server as a library, and its HTTP API for other servers. This file hands the
 * surfaces to the server; everything else is in the folders it names.
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

/** Starts a server on the embedded store. Resolves once it accepts requests. */
export async function serve(options: ServeOptions = {}): Promise<RunningServer> {
  refuseUnknownOptions(options, serveOptions)
  const setup = { ...options, hasCredentials: hasCredentials(options) }
  return serveWith((services) => surfacesOf(services, options), setup)
}

export interface DevOptions
  extends DevServerOptions,
    Pick<HttpApiOptions, 'auth'>,
    Pick<SqsWireOptions, 'accessKeys'> {}

/** Starts a server with what templates declare: their queues, and the functions that these feed. */
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
}

/** Without types, `'none'` may arrive here as well. */
function hasCredentials({ auth, accessKeys }: Pick<ServeOptions, 'auth' | 'accessKeys'>): boolean {
  return typeof auth === 'object' || accessKeys !== undefined
}

/** The first key of their own account, so that a bare name means the queue of their template. */
function keyOfFunctions({ accessKeys = [], account }: DevOptions): AccessKey | undefined {
  const own = accessKeys.find((key) => key.account === undefined || key.account === account)
  return own ?? accessKeys[0]
}

/** One listener for all: what is meant for SQS goes there, and everything else to the HTTP API. */
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
  'The HTTP API is open to every program on this machine: access keys protect the SQS endpoint only. ' +
  'Set MILLRACE_API_KEYS (name:role:key) or MILLRACE_JWT_SECRET, or pass auth to serve().'

function warnOfOpenApi(log: ServeOptions['log']): void {
  const kind = 'http_api_open'
  if (log !== undefined) log.warn({ kind }, openApiWarning)
  else process.emitWarning(openApiWarning, { type: 'MillraceWarning', code: kind })
}
