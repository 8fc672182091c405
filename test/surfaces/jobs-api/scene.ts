/** A served app on a real store and a real port, callers of every kind, and somebody who runs jobs. */
import { SignJWT } from 'jose'
import { onTestFinished } from 'vitest'
import type { Backend, Delivery, Outcome } from '../../../src/backends/backend.ts'
import { openSqlite } from '../../../src/backends/sqlite/index.ts'
import { type RunningServer, type ServeOptions, serve } from '../../../src/server.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { academy } from './academy.ts'

export const basicName = 'academy-dev-basic'

export const keys = {
  admin: 'key-of-the-administrator',
  internal: 'key-of-a-trusted-service',
  operator: 'key-of-the-service-client',
  scraper: 'key-of-the-prometheus-server',
  worker: 'key-of-a-worker-in-python',
  alice: 'key-that-alice-was-given',
  bob: 'key-that-bob-was-given-too',
} as const

export const jwtSecret = 'a secret of the issuer that is long enough'

export const auth = {
  apiKeys: [
    { name: 'root', role: 'admin', key: keys.admin },
    { name: 'billing', role: 'internal', key: keys.internal },
    { name: 'client', role: 'operator', key: keys.operator },
    { name: 'prometheus', role: 'metrics', key: keys.scraper },
    { name: 'python', role: 'worker', key: keys.worker },
    { name: 'alice', role: 'user', key: keys.alice },
    { name: 'bobs-laptop', role: 'user', key: keys.bob, owner: 'bob' },
  ],
  jwt: { secret: jwtSecret, issuer: 'https://issuer.test', audience: 'millrace' },
} as const

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: bodies of any form, looked at by assertions
  readonly body: any
}

export interface Call {
  readonly key?: string
  readonly method?: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

export interface Scene {
  readonly server: RunningServer
  /** A second connection to the store, as another process has it. */
  readonly backend: Backend
  call(path: string, call?: Call): Promise<Answer>
  /** Enqueues a job of `basic` and answers its id. */
  enqueue(fields?: object): Promise<string>
  /** Takes the next job of `basic`. */
  claim(): Promise<Delivery>
  settle(delivery: Delivery, outcome: Outcome): Promise<void>
  /** All jobs of the app. */
  stored(): Promise<number>
}

export async function serveAcademy(options: ServeOptions = {}): Promise<Scene> {
  const folder = await temporaryFolder('jobs-api')
  onTestFinished(() => folder.remove())
  const server = await serve({
    app: academy,
    auth,
    port: 0,
    data: folder.path,
    ...options,
  })
  const backend = await openSqlite({ file: folder.file('millrace.db') })
  onTestFinished(async () => {
    await server.stop()
    await backend.close()
  })
  const call = (path: string, wanted: Call = {}): Promise<Answer> =>
    callApi(server.url, path, wanted)
  return {
    server,
    backend,
    call,
    async enqueue(fields = {}) {
      const body = { type: 'OCR', payload: { examId: 'e-1' }, ...fields }
      const answer = await call('/jobs/basic', { key: keys.admin, method: 'POST', body })
      if (answer.status !== 202) throw new Error(`not enqueued: ${answer.text}`)
      return answer.body.job_id
    },
    async claim() {
      const [delivery] = await backend.receive({ queue: basicName, max: 1 })
      if (delivery === undefined) throw new Error('there was no job to receive')
      return delivery
    },
    async settle({ receipt }, outcome) {
      const request = { queue: basicName, settlements: [{ receipt, outcome }] }
      const [result] = await backend.settle(request)
      if (result?.status !== 'settled') throw new Error(`not settled: ${result?.status}`)
    },
    async stored() {
      const { body } = await call('/jobs?limit=100', { key: keys.admin })
      return body.jobs.length
    },
  }
}

export async function callApi(url: string, path: string, wanted: Call): Promise<Answer> {
  const { key, method = 'GET', body, headers } = wanted
  const response = await fetch(url + path, {
    method,
    headers: {
      ...(key !== undefined && { 'x-api-key': key }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await response.text()
  const isJson = /json/.test(response.headers.get('content-type') ?? '')
  const { status } = response
  return { status, headers: response.headers, text, body: isJson ? JSON.parse(text) : undefined }
}

/** A token of the issuer that the scene trusts. */
export function token(claims: Readonly<Record<string, unknown>>, expires = '5m'): Promise<string> {
  return new SignJWT(claims)
    .setProtectedHeader({ alg: 'HS256' })
    .setIssuer(auth.jwt.issuer)
    .setAudience(auth.jwt.audience)
    .setExpirationTime(expires)
    .sign(new TextEncoder().encode(jwtSecret))
}
