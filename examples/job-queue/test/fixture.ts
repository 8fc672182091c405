/** The system in one process: real store, database, SMTP server, HTTP and worker. */

import { Readable } from 'node:stream'
import type { Logger, Worker } from 'millrace'
import { onTestFinished } from 'vitest'
import { temporaryFolder } from '../../../test/support/temporary-folder.ts'
import { startApi } from '../api.ts'
import type { JobQueueMill } from '../app.ts'
import { Mailbox } from '../demo/mailbox.ts'
import { type Environment, readEnvironment } from '../environment.ts'
import { type Caller, Identity } from '../identity.ts'
import { JobQueueService } from '../job-queue-service.ts'
import { openMill } from '../open-mill.ts'
import { openServices, type Services } from '../services/services.ts'
import { createWorker } from '../worker.ts'
import { type BreakableStore, breakableStore } from './breakable-store.ts'

export interface LogLine {
  readonly level: keyof Logger
  readonly message: string
  readonly fields: Readonly<Record<string, unknown>>
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly body: Record<string, unknown>
}

export type Ask = (
  method: string,
  path: string,
  body?: object | Uint8Array<ArrayBuffer>,
  headers?: Readonly<Record<string, string>>,
) => Promise<Answer>

export interface Fixture {
  readonly mill: JobQueueMill
  readonly services: Services
  readonly queue: JobQueueService
  readonly mailbox: Mailbox
  readonly lines: readonly LogLine[]
  /** The environment of other processes of the same system. */
  readonly variables: Readonly<Record<string, string>>
  readonly environment: Environment
  readonly store: BreakableStore
  startWorker(): Worker
  /** Starts the API, and resolves to a function that sends requests as a given caller. */
  startApi(): Promise<{ readonly url: string; as(caller: Caller): Promise<Ask> }>
}

export interface FixtureOptions {
  readonly variables?: Readonly<Record<string, string>>
  /** Replaces parts of the system. */
  readonly replace?: Partial<Services>
  /** How long a call waits for a broken store. */
  readonly busyTimeoutMs?: number
}

/** Part of every secret in the tests, so that one search finds any leak. */
export const secretMark = 'must-not-leak'

export const ada: Caller = { userId: 'ada', role: 'user' }
export const bob: Caller = { userId: 'bob', role: 'user' }
export const staff: Caller = { userId: 'staff', role: 'internal' }
export const admin: Caller = { userId: 'root', role: 'admin' }

export async function openFixture(options: FixtureOptions = {}): Promise<Fixture> {
  const folder = await temporaryFolder('job-queue')
  const mailbox = new Mailbox()
  const store = await breakableStore(folder.path)
  const variables = {
    JOB_QUEUE_DEFAULT_BACKOFF_MS: '20',
    JOB_QUEUE_COURSE_GEN_LIMITER_MS: '100',
    REDIS_URL: `redis://default:${secretMark}@redis.example:6379`,
    JWT_SECRET: `${secretMark}-${'0123456789'.repeat(3)}`,
    DATA_DIR: folder.path,
    SMTP_URL: await mailbox.start(),
    ...store.variables,
    ...options.variables,
  }
  const environment = readEnvironment(variables)
  const services = { ...openServices(environment), ...options.replace }
  services.users.save({ id: 'ada', email: 'ada@example.com' }, 100)
  services.users.save({ id: 'bob', email: 'bob@example.com' }, 100)
  const lines: LogLine[] = []
  const log = recording(lines)
  const { busyTimeoutMs: ms } = options
  const mill = await openMill(environment, log, { ...(ms && { busyTimeout: { ms } }) })
  const stops: (() => Promise<void>)[] = []
  onTestFinished(async () => {
    for (const stop of stops.reverse()) await stop()
    await mill.close()
    await services.close()
    await mailbox.stop()
    await folder.remove()
  })
  return {
    mill,
    services,
    queue: new JobQueueService(mill, log),
    mailbox,
    lines,
    variables,
    environment,
    store,
    startWorker() {
      const worker = createWorker(mill, services, environment)
      worker.start()
      stops.push(() => worker.stop())
      return worker
    },
    async startApi() {
      const api = await startApi({ mill, services, settings: environment, log })
      stops.push(() => api.stop())
      const identity = new Identity(environment.jwtSecret)
      return { url: api.url, as: async (caller) => asking(api.url, await identity.issue(caller)) }
    },
  }
}

function asking(url: string, token: string): Ask {
  return async (method, path, body, more = {}) => {
    const isPicture = body instanceof Uint8Array
    const type = isPicture ? 'image/png' : 'application/json'
    const response = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': type, ...more },
      ...(body && { body: isPicture ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    const { status, headers } = response
    return { status, headers, text, body: text.startsWith('{') ? JSON.parse(text) : {} }
  }
}

/** A logger that records its lines. */
export function recording(lines: LogLine[]): Logger {
  const at =
    (level: keyof Logger) =>
    (fields: LogLine['fields'], message: string): void => {
      lines.push({ level, message, fields })
    }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

/** Waits for one turn of the event loop. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** Adds a document whose content is its title. */
export function addDocument({ services: { documents } }: Fixture, title: string): Promise<string> {
  return documents.add({ owner: 'ada', title, content: Readable.from([title]) })
}
