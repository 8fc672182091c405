/**
 * Every route with every kind of caller. The routes come from the OpenAPI document, which is made from
 * the routes themselves: one without a row here fails the test.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { notEmptyRule } from '../../../src/contracts/resolve-alarms.ts'
import { academy } from './academy.ts'
import {
  type Answer,
  auth,
  basicName,
  type Call,
  keys,
  type Scene,
  serveAcademy,
  token,
} from './scene.ts'

type CallerName =
  | 'none'
  | 'wrong'
  | 'foreign'
  | 'own'
  | 'internal'
  | 'operator'
  | 'scraper'
  | 'scraperToken'
  | 'worker'
  | 'admin'
  | 'ownToken'
const callers: readonly CallerName[] = [
  'none',
  'wrong',
  'foreign',
  'own',
  'internal',
  'operator',
  'scraper',
  'scraperToken',
  'worker',
  'admin',
  'ownToken',
]

type Row = Readonly<Record<CallerName, number>>

/** Who may scrape metrics, or report on received jobs, may do nothing else. */
const noOtherPurpose = { scraper: 403, scraperToken: 403, worker: 403 }

const ofOneJob = (allowed: number): Row => ({
  none: 401,
  wrong: 401,
  foreign: 404,
  own: allowed,
  internal: 404,
  operator: 404,
  ...noOtherPurpose,
  admin: allowed,
  ownToken: allowed,
})
const everybody: Row = {
  none: 200,
  wrong: 200,
  foreign: 200,
  own: 200,
  internal: 200,
  operator: 200,
  scraper: 200,
  scraperToken: 200,
  worker: 200,
  admin: 200,
  ownToken: 200,
}
const adminOnly = (allowed: number): Row => ({
  none: 401,
  wrong: 401,
  foreign: 403,
  own: 403,
  internal: 403,
  operator: 403,
  ...noOtherPurpose,
  admin: allowed,
  ownToken: 403,
})
const reporting: Row = { ...adminOnly(200), internal: 200, worker: 200 }
const inboxes = (allowed: number): Row => ({ ...adminOnly(allowed), operator: allowed })
const scraping: Row = { ...adminOnly(200), scraper: 200, scraperToken: 200 }
const known: Row = { ...everybody, ...noOtherPurpose, none: 401, wrong: 401 }

/** What each caller is answered about a job of alice. */
const matrix: Readonly<Record<string, Row>> = {
  'POST /jobs/{queue}': {
    none: 401,
    wrong: 401,
    foreign: 403,
    own: 403,
    internal: 202,
    operator: 403,
    ...noOtherPurpose,
    admin: 202,
    ownToken: 403,
  },
  'GET /jobs': known,
  'GET /jobs/{id}': ofOneJob(200),
  'GET /jobs/{id}/attempts': ofOneJob(200),
  'GET /jobs/{id}/logs': { ...ofOneJob(200), own: 403, ownToken: 403 },
  'GET /jobs/{id}/events': ofOneJob(200),
  'POST /jobs/{id}/cancel': ofOneJob(200),
  'POST /jobs/{id}/reschedule': ofOneJob(200),
  'POST /jobs/{id}/promote': ofOneJob(200),
  'POST /jobs/{id}/retry': ofOneJob(202),
  'POST /jobs/{id}/progress': reporting,
  'POST /jobs/{id}/complete': reporting,
  'POST /jobs/{id}/fail': reporting,
  'POST /jobs/{id}/extend': reporting,
  'GET /switches': adminOnly(200),
  'GET /switches/events': adminOnly(200),
  'PUT /switches/{scope}/{value}': adminOnly(200),
  'DELETE /switches/{scope}/{value}': adminOnly(204),
  'GET /budgets': adminOnly(200),
  'GET /budgets/{name}': adminOnly(200),
  'GET /budgets/{name}/resets': adminOnly(200),
  'POST /budgets/{name}/reset': adminOnly(200),
  'POST /budgets/{name}/spend': { ...adminOnly(200), internal: 200 },
  'GET /metrics': scraping,
  'GET /metrics/per-queue': scraping,
  'GET /queues/{queue}/metrics': adminOnly(200),
  'GET /inbox/{queue}': inboxes(200),
  'GET /inbox/{queue}/{id}': inboxes(200),
  'POST /inbox/{queue}/claim': inboxes(200),
  'POST /inbox/{queue}/{id}/renew': inboxes(200),
  'POST /inbox/{queue}/{id}/note': inboxes(200),
  'POST /inbox/{queue}/{id}/resolve': inboxes(204),
  'POST /inbox/{queue}/{id}/release': inboxes(200),
  'GET /alarms': inboxes(200),
  'GET /alarms/{name}': inboxes(200),
  'GET /alarms/{name}/history': inboxes(200),
  'POST /alarms/{name}/state': inboxes(200),
  'GET /openapi.json': known,
  'GET /healthz': everybody,
  'GET /readyz': everybody,
}

async function credentialsOf(caller: CallerName): Promise<Readonly<Record<string, string>>> {
  switch (caller) {
    case 'none':
      return {}
    case 'wrong':
      return { 'x-api-key': `${keys.admin}x` }
    case 'foreign':
      return { 'x-api-key': keys.bob }
    case 'own':
      return { authorization: `Bearer ${keys.alice}` }
    case 'internal':
      return { 'x-api-key': keys.internal }
    case 'operator':
      return { 'x-api-key': keys.operator }
    case 'scraper':
      return { 'x-api-key': keys.scraper }
    case 'scraperToken':
      return { authorization: `Bearer ${await token({ sub: 'prometheus', role: 'metrics' })}` }
    case 'worker':
      return { 'x-api-key': keys.worker }
    case 'admin':
      return { 'x-api-key': keys.admin }
    case 'ownToken':
      return { authorization: `Bearer ${await token({ sub: 'alice' })}` }
  }
}

async function routesOf(scene: Scene): Promise<readonly string[]> {
  const { body } = await scene.call('/openapi.json', { key: keys.admin })
  return Object.entries(body.paths as Record<string, object>).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  )
}

/** A job of alice that the route can be used on, or a message that the caller has claimed. */
async function jobFor(scene: Scene, route: string, caller?: CallerName): Promise<string> {
  if (route.includes(' /inbox/')) return messageFor(scene, route, caller)
  const rules = [notEmptyRule('academy-dev-video', { name: 'deep' })]
  if (route.includes(' /alarms')) await scene.backend.alarms?.declareAlarms({ owner: 'x', rules })
  const id = await scene.enqueue({ owner: 'alice' })
  // What is lifted must be on.
  const on = { scope: 'type', value: 'OCR', mode: 'hold', by: 'test' } as const
  if (route.startsWith('DELETE /switches')) await scene.backend.switches?.set(on)
  // A stream of a job that goes on does not end, and only a finished job can be tried again.
  if (/retry|events/.test(route)) await scene.backend.jobs?.cancel({ id })
  return id
}

async function messageFor(scene: Scene, route: string, caller?: CallerName): Promise<string> {
  const queue = 'academy-dev-video'
  const [sent] = await scene.backend.send({ queue, messages: [{ body: '{}' }] })
  const id = sent?.status === 'created' ? sent.id : ''
  const by = caller === 'operator' ? 'client' : 'root'
  if (!route.endsWith('/claim')) await scene.backend.inboxes?.claim({ queue, id, by })
  return id
}

/** The fields of a report, without its receipt. */
const reports: Readonly<Record<string, object>> = {
  'POST /jobs/{id}/progress': { progress: 0.5 },
  'POST /jobs/{id}/complete': { result: 1 },
  'POST /jobs/{id}/fail': { error: { message: 'none' } },
  'POST /jobs/{id}/extend': { for: '1m' },
}

async function reportFor(scene: Scene, route: string): Promise<object | undefined> {
  const fields = reports[route]
  if (fields === undefined) return undefined
  const [delivery] = await scene.backend.receive({ queue: basicName, max: 1, waitMs: 0 })
  return { ...fields, receipt: delivery?.receipt ?? 'r2-1-1-1-1.1' }
}

async function callRoute(scene: Scene, route: string, call: Call, id: string): Promise<Answer> {
  const [method = '', pattern = ''] = route.split(' ')
  const path = pattern
    .replace('{queue}', route.includes(' /inbox/') ? 'video' : 'basic')
    .replace('{id}', id)
    .replace('{scope}/{value}', 'type/OCR')
    .replace('{name}', route.includes(' /budgets/') ? 'llm' : 'deep')
  const bodies: Readonly<Record<string, object>> = {
    'POST /jobs/{queue}': { type: 'OCR', payload: { examId: 'e-2' } },
    'POST /jobs/{id}/reschedule': { delay: '1d' },
    'PUT /switches/{scope}/{value}': { mode: 'hold' },
    'POST /inbox/{queue}/{id}/note': { note: 'seen' },
    'POST /alarms/{name}/state': { state: 'ALARM' },
    'POST /budgets/{name}/spend': { amount: 1 },
  }
  const report = await reportFor(scene, route)
  const body = bodies[route] ?? report ?? (route.startsWith('POST /inbox/') ? {} : undefined)
  return scene.call(path, { ...call, method, ...(body !== undefined && { body }) })
}

const missing = '00000000-0000-8000-8000-000000000001'

describe('the routes of the API', () => {
  test('are all in the matrix, and no others', async () => {
    const scene = await serveAcademy()
    assert.deepEqual([...(await routesOf(scene))].sort(), Object.keys(matrix).sort())
  })

  test.each(Object.entries(matrix))('%s answers each caller as it may', async (route, row) => {
    const scene = await serveAcademy()
    for (const caller of callers) {
      const headers = await credentialsOf(caller)
      const answer = await callRoute(scene, route, { headers }, await jobFor(scene, route, caller))
      assert.equal(answer.status, row[caller], `${route} for ${caller}: ${answer.text}`)
      if (answer.status === 401) {
        assert.match(answer.headers.get('www-authenticate') ?? '', /^Bearer /)
      }
      if (answer.status >= 400) {
        assert.match(answer.headers.get('content-type') ?? '', /^application\/problem\+json/)
        assert.equal(answer.body.status, answer.status)
      }
    }
  })

  test.each(Object.keys(matrix).filter((route) => route.includes('/jobs/{id}')))(
    '%s answers about a foreign job as about a missing one, byte for byte',
    async (route) => {
      const scene = await serveAcademy()
      const call = { key: keys.bob, headers: { 'x-request-id': 'same' } }
      const foreign = await callRoute(scene, route, call, await jobFor(scene, route))
      const none = await callRoute(scene, route, call, missing)
      assert.equal(foreign.status, matrix[route]?.foreign)
      assert.equal(foreign.text, none.text)
      const comparable = ({ headers }: Answer): readonly (readonly [string, string])[] =>
        [...headers].filter(([name]) => name !== 'date' && !name.startsWith('ratelimit-'))
      assert.deepEqual(comparable(foreign), comparable(none))
    },
  )

  test('leave a foreign job as it was', async () => {
    const scene = await serveAcademy()
    const id = await scene.enqueue({ owner: 'alice' })
    for (const [caller, action] of [
      [keys.bob, 'cancel'],
      [keys.internal, 'cancel'],
      [keys.bob, 'retry'],
    ] as const) {
      await scene.call(`/jobs/${id}/${action}`, { method: 'POST', key: caller })
    }
    const { body } = await scene.call(`/jobs/${id}`, { key: keys.alice })
    assert.equal(body.status, 'pending')
    assert.equal(await scene.stored(), 1)
  })

  test('tell an unknown address only after the credentials', async () => {
    const scene = await serveAcademy()
    assert.equal((await scene.call('/jobs/1/2/3')).status, 401)
    assert.equal((await scene.call('/jobs/1/2/3', { key: keys.alice })).status, 404)
    assert.equal((await scene.call('/nothing')).status, 404)
    const answer = await scene.call('/jobs', { method: 'DELETE', key: keys.admin })
    assert.equal(answer.body.code, 'not_found')
  })

  test('let users enqueue where the server says so, as themselves and without privileges', async () => {
    const scene = await serveAcademy({ userQueues: ['mail'] })
    const send = (fields: object): Promise<Answer> =>
      scene.call('/jobs/mail', {
        method: 'POST',
        key: keys.bob,
        body: { payload: { to: 'carol' }, ...fields },
      })
    const { status, body } = await send({})
    assert.equal(status, 202)
    const { body: job } = await scene.call(`/jobs/${body.job_id}`, { key: keys.admin })
    assert.equal(job.owner, 'bob')
    for (const field of ['owner', 'tenant', 'tier', 'tags', 'attempts', 'delay', 'trace_id']) {
      const refused = await send({ [field]: 'alice' })
      assert.equal(refused.status, 400, field)
      assert.equal(refused.body.errors[0].field, field)
    }
    for (const queue of ['basic', 'outgoing', 'video']) {
      const path = `/jobs/${queue}`
      const refused = await scene.call(path, { method: 'POST', key: keys.bob, body: {} })
      assert.equal(refused.status, 403, queue)
    }
  })

  test('refuse settings that cannot be meant', async () => {
    const attempts = [
      { userQueues: ['nope'] },
      { auth: {} },
      { auth: { apiKeys: [{ name: 'a', role: 'admin', key: 'short' }] } },
      { auth: { apiKeys: [{ name: 'a', role: 'admin', key: 'a key with blanks in it' }] } },
      { auth: { apiKeys: [{ name: 'a', role: 'root', key: keys.admin }] } },
      { auth: { apiKeys: [...auth.apiKeys, { name: 'alice', role: 'user', key: keys.alice }] } },
      { auth: { jwt: { secret: 'short' } } },
      { auth: { jwt: { secret: 'x'.repeat(32), publicKey: 'y' } } },
      { auth: { jwt: { publicKey: 'not a key' } } },
      { auth: { jwt: { jwksUrl: 'http://issuer.test/keys' } } },
      { bodyBytesMax: 1 },
      { enqueueRate: { max: 0, per: '1s' } },
      { streamsPerCaller: 0 },
    ]
    for (const options of attempts) {
      // @ts-expect-error: some of these are refused by the types already
      await assert.rejects(serveAcademy({ app: academy, ...options }), (error: Error) => {
        assert.equal((error as { code?: string }).code, 'invalid_argument', JSON.stringify(options))
        assert.ok(!error.message.includes(keys.admin) && !error.message.includes('short'))
        return true
      })
    }
  })
})
