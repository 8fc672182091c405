/**
 * The jobs and kill switches of an open app over HTTP, as one function from request to response. Any server
 * can mount it. `serve` mounts it beside the health checks.
 */
import type { Hono } from 'hono'
import { type OptionNames, refuseUnknownOptions } from '../../core/options.ts'
import type { ServedApp } from '../services.ts'
import { alarmRoutes } from './alarm-routes.ts'
import type { ApiEnv } from './api-env.ts'
import { apiSettings, type JobsApiOptions } from './api-options.ts'
import { authenticate } from './authenticate.ts'
import { budgetRoutes } from './budget-routes.ts'
import { enqueueRoutes } from './enqueue-routes.ts'
import { eventRoutes } from './event-routes.ts'
import { inboxPath, inboxRoutes } from './inbox-routes.ts'
import { jobRoutes } from './job-routes.ts'
import { type JobsContext, jobsContext } from './jobs-context.ts'
import { metricRoutes } from './metric-routes.ts'
import { newApi } from './new-api.ts'
import { openApiRoutes } from './openapi-routes.ts'
import { reportRoutes } from './report-routes.ts'
import { switchRoutes } from './switch-routes.ts'

export interface JobsApi {
  fetch(request: Request): Promise<Response>
}

const jobsApiOptions: OptionNames<JobsApiOptions> = {
  auth: true,
  basePath: true,
  userQueues: true,
  bodyBytesMax: true,
  bodyTimeout: true,
  enqueueRate: true,
  streamsPerCaller: true,
  log: true,
  signal: true,
  ports: true,
}

/** @param mill the open app, from `open` */
export function createJobsApi(mill: ServedApp, options: JobsApiOptions): JobsApi {
  refuseUnknownOptions(options, jobsApiOptions)
  const { basePath, ...others } = options
  const settings = apiSettings(others, mill.app)
  const { log, ports } = settings
  const api = newApi({ log, ports, ...(basePath !== undefined && { basePath }) })
  jobsRoutes(api, jobsContext(mill, settings))
  alarmRoutes(api, { alarms: mill.alarms, settings })
  budgetRoutes(api, { budgets: mill.budgets, settings })
  return { fetch: async (request) => api.fetch(request) }
}

/** Paths that exist only if an app is served. */
export const appPaths: readonly string[] = ['/jobs', '/jobs/*', '/switches', '/switches/*']

/** All routes for jobs and kill switches, behind the check of credentials. */
export function jobsRoutes(api: Hono<ApiEnv>, context: JobsContext): void {
  const { settings, reports } = context
  const { auth, ports } = settings
  // Before the others, which refuse the role `worker`.
  reportRoutes(api, { reports, settings })
  const check = authenticate(auth, ports.clock)
  for (const path of [...appPaths, inboxPath, '/openapi.json']) api.use(path, check)
  enqueueRoutes(api, context)
  jobRoutes(api, context)
  eventRoutes(api, context)
  switchRoutes(api, context)
  inboxRoutes(api, context.inboxes)
  metricRoutes(api, context)
  openApiRoutes(api, context)
}
