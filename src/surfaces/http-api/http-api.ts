/** The HTTP API of the server: health checks, metrics, alarms, inboxes, and the jobs of a served app. */
import type { RequestListener } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import type { Hono, MiddlewareHandler } from 'hono'
import { isLocalRequest } from '../local-request.ts'
import type { Services } from '../services.ts'
import { alarmRoutes } from './alarm-routes.ts'
import type { ApiEnv } from './api-env.ts'
import { type ApiOptions, apiSettings } from './api-options.ts'
import { ApiProblem } from './api-problem.ts'
import { type ApiAuth, authenticate } from './authenticate.ts'
import { budgetRoutes } from './budget-routes.ts'
import { storeInboxes } from './inbox-context.ts'
import { inboxPath, inboxRoutes } from './inbox-routes.ts'
import { appPaths, jobsRoutes } from './jobs-api.ts'
import { jobsContext } from './jobs-context.ts'
import { metricRoutes, scrapePaths } from './metric-routes.ts'
import { newApi } from './new-api.ts'
import { openApiRoutes } from './openapi-routes.ts'
import { probePaths, probeRoutes } from './probe-routes.ts'
import { reportRoutes } from './report-routes.ts'

export interface HttpApiOptions extends ApiOptions {
  /**
   * Without credentials, every caller on this machine may do everything. If other machines can reach the
   * server, the API is closed.
   */
  readonly auth?: ApiAuth
}

/** The services that the API uses. It has no direct access to the store. */
export type ApiServices = Pick<
  Services,
  | 'ready'
  | 'stopping'
  | 'mill'
  | 'reports'
  | 'inbox'
  | 'metrics'
  | 'alarms'
  | 'budgets'
  | 'isPublic'
  | 'ports'
>

export interface HttpApi {
  /** Whether a path belongs to the API, for any method. */
  owns(path: string): boolean
  readonly answer: RequestListener
}

export function httpApi(services: ApiServices, options: HttpApiOptions = {}): HttpApi {
  const { mill, ports, isPublic, stopping: signal } = services
  const { auth = 'none', ...others } = options
  const settings = apiSettings({ ...others, auth, ports, signal }, mill?.app)
  const api = newApi({ log: settings.log, ports, unlogged: [...probePaths, ...scrapePaths] })
  const isOpen = auth === 'none'
  if (isOpen && !isPublic) api.use(localOnly)
  probeRoutes(api, services)
  if (isOpen && isPublic) api.use(closed)
  alarmRoutes(api, { alarms: services.alarms, settings })
  budgetRoutes(api, { budgets: services.budgets, settings })
  if (mill === null) {
    reportRoutes(api, { reports: services.reports, settings })
    for (const path of appPaths) {
      api.all(path, () => {
        throw new ApiProblem('no_app')
      })
    }
    for (const path of [inboxPath, '/openapi.json']) api.use(path, authenticate(auth, ports.clock))
    inboxRoutes(api, storeInboxes(services, settings))
    metricRoutes(api, { metrics: services.metrics, settings })
    openApiRoutes(api, undefined)
  } else {
    jobsRoutes(api, jobsContext(mill, settings))
  }
  const places = placesOf(api)
  return {
    owns: (path) => places.has(firstStep(path)),
    answer: getRequestListener(api.fetch, { overrideGlobalObjects: false }),
  }
}

/** The first parts of its paths: `jobs`, `inbox`. */
function placesOf({ routes }: Hono<ApiEnv>): ReadonlySet<string> {
  const steps = routes.map(({ path }) => firstStep(path))
  return new Set(steps.filter((step) => /^\w/.test(step)))
}

function firstStep(path: string): string {
  const [, step = ''] = path.split('/', 2)
  return step
}

/** A public server without API credentials. Its SQS endpoint may still check signatures. */
const closed: MiddlewareHandler<ApiEnv> = async () => {
  throw new ApiProblem('closed')
}

/** Rejects requests from web pages: without credentials, the API trusts every program on this machine. */
const localOnly: MiddlewareHandler<ApiEnv> = async (c, next) => {
  const source = {
    host: new URL(c.req.url).host,
    origin: c.req.header('origin'),
    fetchSite: c.req.header('sec-fetch-site'),
  }
  if (!isLocalRequest(source)) throw new ApiProblem('forbidden')
  await next()
}
