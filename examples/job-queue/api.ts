/**
 * The API process: the routes of the example, the jobs API of Millrace, and the sockets of browsers. It
 * enqueues jobs and never runs one.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { Hono } from 'hono'
import { type Logger, runUntilSignal } from 'millrace'
import { createJobsApi } from 'millrace/server'
import { pino } from 'pino'
import type { JobQueueMill } from './app.ts'
import { type Environment, readEnvironment } from './environment.ts'
import { Identity } from './identity.ts'
import { JobQueueService } from './job-queue-service.ts'
import { codeOf, openMill } from './open-mill.ts'
import { routes } from './routes.ts'
import { RealtimeGateway } from './services/realtime-gateway.ts'
import { openServices, type Services } from './services/services.ts'

export interface ApiSetup {
  readonly mill: JobQueueMill
  readonly services: Services
  readonly settings: Pick<Environment, 'port' | 'jwtSecret'>
  readonly log: Logger
}

export interface RunningApi {
  readonly url: string
  stop(): Promise<void>
}

export async function startApi({ mill, services, settings, log }: ApiSetup): Promise<RunningApi> {
  const identity = new Identity(settings.jwtSecret)
  const queue = new JobQueueService(mill, log)
  const stopping = new AbortController()
  const auth = { jwt: { secret: settings.jwtSecret } }
  const jobsApi = createJobsApi(mill, { auth, log, signal: stopping.signal })

  const app = new Hono()
  app.get('/healthz', (c) => c.json({ status: 'ok' }))
  app.get('/readyz', async (c) => {
    try {
      await mill.ready()
      return c.json({ status: 'ok' })
    } catch (error) {
      log.error({ code: codeOf(error) }, 'not ready')
      return c.json({ status: 'unavailable' }, 503)
    }
  })
  for (const path of ['/jobs', '/jobs/*', '/openapi.json']) {
    app.all(path, (c) => jobsApi.fetch(c.req.raw))
  }
  app.route('/', routes({ services, queue, identity, log }))

  const http = createServer(getRequestListener(app.fetch))
  const gateway = new RealtimeGateway({
    http,
    log,
    events: services.events,
    findCourse: (id) => services.courses.find(id),
    userOf: async (token) => (await identity.verify(token))?.userId,
  })
  http.listen(settings.port, '127.0.0.1')
  await once(http, 'listening')
  // The address of a listening TCP server has this type.
  const { port } = http.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    async stop() {
      stopping.abort()
      // Closes the HTTP server too, after the running requests.
      await gateway.close()
    },
  }
}

/** Serves until SIGTERM or SIGINT. */
async function main(environment: Environment, log: Logger): Promise<void> {
  const services = openServices(environment)
  const mill = await openMill(environment, log)
  const api = await startApi({ mill, services, settings: environment, log })
  console.log(`api ${api.url}`)
  await runUntilSignal(mill, api)
  await services.close()
}

if (process.argv[1] === import.meta.filename) {
  await main(readEnvironment(), pino({}, pino.destination(2)))
}
