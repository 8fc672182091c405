/** Inboxes over HTTP: what people see, what they do, and what they are told when it does not work. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { z } from 'zod'
import { defineApp, jobs, open, queue } from '../../../src/index.ts'
import { createJobsApi } from '../../../src/server.ts'
import { type VirtualClock, virtualPorts } from '../../../src/testing/virtual-clock.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { type Answer, auth, type Call, keys, type Scene, serveAcademy, token } from './scene.ts'

const client = defineApp('client', {
  queues: {
    handoff: queue({
      schema: z.object({ reason: z.string(), phone: z.string().optional() }),
      visibilityTimeout: '1h',
      personal: ['phone'],
    }),
    letters: queue({ schema: z.string() }),
    approvals: jobs({
      types: { REFUND: { schema: z.object({ card: z.string() }), secret: ['card'] } },
    }),
  },
})

interface DeskScene extends Scene {
  /** Sends messages to the inbox, and answers their ids. */
  send(...bodies: readonly string[]): Promise<readonly string[]>
  as(key: string, path: string, call?: Call): Promise<Answer>
  post(path: string, body?: object, key?: string): Promise<Answer>
}

async function serveDesk(): Promise<DeskScene> {
  const scene = await serveAcademy({ app: client })
  const as = (key: string, path: string, call: Call = {}): Promise<Answer> =>
    scene.call(`/inbox/handoff${path}`, { key, ...call })
  return {
    ...scene,
    async send(...bodies) {
      const messages = bodies.map((body) => ({ body }))
      const results = await scene.backend.send({ queue: 'client-dev-handoff', messages })
      return results.map((result) => (result.status === 'created' ? result.id : ''))
    },
    as,
    post: (path, body = {}, key = keys.operator) => as(key, path, { method: 'POST', body }),
  }
}

interface MountedDesk extends AsyncDisposable {
  readonly clock: VirtualClock
  post(path: string, body?: object): Promise<Pick<Answer, 'status' | 'body'>>
}

/** The same with one message, on a clock that the test moves. */
async function mountDesk(): Promise<MountedDesk> {
  const folder = await temporaryFolder('client')
  const ports = virtualPorts()
  const mill = await open(client, { data: folder.path, ports })
  await mill.queues.handoff.send({ reason: 'refund' })
  const api = createJobsApi(mill, { auth, ports })
  return {
    clock: ports.clock,
    async post(path, body = {}) {
      const request = new Request(`http://client.test/inbox/handoff${path}`, {
        method: 'POST',
        headers: { 'x-api-key': keys.operator, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      const response = await api.fetch(request)
      const text = await response.text()
      return { status: response.status, body: text === '' ? undefined : JSON.parse(text) }
    },
    async [Symbol.asyncDispose]() {
      await mill.close()
      await folder.remove()
    },
  }
}

const refund = JSON.stringify({ reason: 'refund', phone: '+1 555 0100' })

describe('an inbox over HTTP', () => {
  test('hides a body whole in which nobody can tell what is personal', async () => {
    const { send, as } = await serveDesk()
    await send(refund.slice(0, -1), JSON.stringify(refund), `[${refund}]`, '555')
    const { body, text } = await as(keys.operator, '?tab=unassigned')
    const masked = [{ reason: 'refund', phone: '[hidden]' }]
    assert.deepEqual(
      body.items.map(({ message }: Record<string, unknown>) => message),
      ['[hidden]', '[hidden]', masked, 555],
    )
    assert.ok(!text.includes('0100'), text)
  })

  test('is worked through: claim, note, renew, resolve', async () => {
    const { send, as, post } = await serveDesk()
    const [id] = await send(refund)
    const claimed = await post('/claim', { for: '30m' })
    assert.equal(claimed.status, 200, claimed.text)
    const { claim, sent_at, ...facts } = claimed.body
    assert.match(sent_at, /^\d{4}-.*Z$/)
    assert.equal(claim.by, 'client')
    assert.equal(Date.parse(claim.until) - Date.parse(claim.at), 1_800_000)
    assert.deepEqual(facts, {
      id,
      state: 'claimed',
      message: { reason: 'refund', phone: '[hidden]' },
      attributes: {},
      group: null,
      receive_count: 1,
      dead_letter: null,
      notes: 0,
    })
    assert.equal((await post(`/${id}/note`, { note: 'asked the bank' })).body.notes, 1)
    const renewed = await post(`/${id}/renew`, { for: '2h', token: claim.token })
    assert.ok(Date.parse(renewed.body.claim.until) > Date.parse(claim.until))
    const resolved = await post(`/${id}/resolve`, { note: 'paid back' })
    assert.deepEqual([resolved.status, resolved.text], [204, ''])

    const { body } = await as(keys.operator, `/${id}`)
    assert.equal(body.item, null)
    assert.deepEqual(
      body.history.map(({ event, by, note }: Record<string, unknown>) => [event, by, note]),
      [
        ['claimed', 'client', null],
        ['noted', 'client', 'asked the bank'],
        ['renewed', 'client', null],
        ['resolved', 'client', 'paid back'],
      ],
    )
    assert.equal((await post('/claim')).status, 204)
  })

  test('has three tabs with counts, and pages', async () => {
    const { send, as, post, backend } = await serveDesk()
    await send(...['a', 'b', 'c', 'd'].map((reason) => JSON.stringify({ reason })))
    await post('/claim')
    await post('/claim', { by: 'ben' }, keys.admin)
    await backend.receive({ queue: 'client-dev-handoff', max: 1 })
    const tab = async (query: string, key: string = keys.operator): Promise<unknown> => {
      const { body } = await as(key, query)
      const items = body.items.map(
        ({ message, state }: { message: { reason: string }; state: string }) => [
          message.reason,
          state,
        ],
      )
      return { ...body.counts, items }
    }
    const counts = { mine: 1, unassigned: 1, all: 4 }
    const all = [
      ['a', 'claimed'],
      ['b', 'claimed'],
      ['c', 'leased'],
      ['d', 'waiting'],
    ]
    assert.deepEqual(await tab(''), { ...counts, items: all })
    assert.deepEqual(await tab('?tab=mine'), { ...counts, items: [['a', 'claimed']] })
    assert.deepEqual(await tab('?tab=unassigned'), { ...counts, items: [['d', 'waiting']] })
    const bens = { ...counts, items: [['b', 'claimed']] }
    assert.deepEqual(await tab('?tab=mine&by=ben', keys.admin), bens)
    const { body: first } = await as(keys.operator, '?limit=3')
    assert.equal(first.items.length, 3)
    const { body: rest } = await as(keys.operator, `?limit=3&after=${first.next}`)
    assert.deepEqual([rest.items.length, rest.items[0].message.reason, rest.next], [1, 'd', null])
  })

  test('says who has what somebody else claims, and until when', async () => {
    const { send, post } = await serveDesk()
    const [id] = await send(refund)
    const { body } = await post('/claim', { by: 'anna' }, keys.admin)
    const { status, body: problem } = await post('/claim', { id })
    assert.equal(status, 409)
    const { code, holder, until } = problem
    assert.deepEqual([code, holder, until], ['item_taken', 'anna', body.claim.until])
    for (const action of ['renew', 'resolve', 'release']) {
      const refused = await post(`/${id}/${action}`)
      assert.equal(refused.status, 409)
      assert.deepEqual([refused.body.code, refused.body.holder], ['claim_not_yours', 'anna'])
    }
    assert.equal((await post(`/${id}/note`, { note: 'hello anna' })).status, 200)
  })

  test('puts back what is returned, and tells why it came back', async () => {
    const { send, as, post } = await serveDesk()
    const [id] = await send(refund)
    await post('/claim')
    const returned = await post(`/${id}/release`, { note: 'not my field' })
    const { state, claim, receive_count } = returned.body
    assert.deepEqual([returned.status, state, claim, receive_count], [200, 'waiting', null, 0])
    const { body } = await as(keys.operator, `/${id}`)
    assert.equal(body.item.state, 'waiting')
    assert.deepEqual(body.history.at(-1).note, 'not my field')
    assert.equal((await post(`/${id}/resolve`)).body.code, 'claim_not_yours')
  })

  test('refuses a claim that has run out, or an earlier one', async () => {
    await using timed = await mountDesk()
    const [first, again] = [await timed.post('/claim'), await timed.post('/claim')]
    assert.deepEqual([first.status, again.status], [200, 204])
    const { id, claim } = first.body
    await timed.clock.advance(3_600_000)
    for (const action of ['renew', 'resolve', 'release']) {
      const { status, body } = await timed.post(`/${id}/${action}`)
      assert.deepEqual([status, body.code], [409, 'claim_over'])
    }
    await timed.post('/claim')
    const stale = await timed.post(`/${id}/resolve`, { token: claim.token })
    assert.deepEqual([stale.status, stale.body.code], [409, 'claim_over'])
    assert.equal((await timed.post(`/${id}/resolve`)).status, 204)
  })

  test('is signed with the subject of a token', async () => {
    const { send, call } = await serveDesk()
    await send(refund)
    const headers = { authorization: `Bearer ${await token({ sub: 'anna', role: 'operator' })}` }
    const claim = { method: 'POST', body: {}, headers }
    assert.equal((await call('/inbox/handoff/claim', claim)).body.claim.by, 'anna')
  })

  test('lets only admins act for others', async () => {
    const { send, as, post } = await serveDesk()
    const [id] = await send(refund)
    const foreign = await post('/claim', { by: 'ben' })
    assert.deepEqual([foreign.status, foreign.body.code], [403, 'forbidden'])
    assert.equal((await as(keys.operator, '?tab=mine&by=ben')).status, 403)
    assert.equal((await post(`/${id}/note`, { by: 'client', note: 'me' })).status, 200)
    assert.equal((await post('/claim', { by: 'ben' }, keys.admin)).body.claim.by, 'ben')
  })

  test('hides what a contract marks, in jobs as well', async () => {
    const { call, backend } = await serveDesk()
    const job = { type: 'REFUND', payload: '{"card":"4111"}', maxAttempts: 1 }
    await backend.jobs?.enqueue({ queue: 'client-dev-approvals', jobs: [job] })
    const { text } = await call('/inbox/approvals', { key: keys.operator })
    assert.ok(text.includes('"card":"[hidden]"') && !text.includes('4111'), text)
  })

  test('shows what is no JSON where nothing is to be hidden', async () => {
    const { call, backend } = await serveDesk()
    await backend.send({ queue: 'client-dev-letters', messages: [{ body: 'not json' }] })
    const { body } = await call('/inbox/letters', { key: keys.operator })
    assert.equal(body.items[0].message, 'not json')
  })

  test('knows a queue by its key and its name, and no queue of others', async () => {
    const { call, backend } = await serveDesk()
    await backend.createQueue({ queue: 'leased' })
    for (const name of ['handoff', 'client-dev-handoff']) {
      assert.equal((await call(`/inbox/${name}`, { key: keys.operator })).status, 200)
    }
    for (const name of ['leased', 'nothing', 'constructor']) {
      const { status, body } = await call(`/inbox/${name}`, { key: keys.operator })
      assert.deepEqual([status, body.errors[0].field], [404, 'queue'])
    }
  })

  test('answers 404 about what is not there', async () => {
    const { as, post } = await serveDesk()
    for (const answer of [
      await as(keys.operator, '/nothing'),
      await post('/claim', { id: 'nothing' }),
      await post('/nothing/renew'),
      await post('/nothing/note', { note: 'x' }),
      await post('/nothing/resolve'),
      await post('/nothing/release'),
    ]) {
      assert.deepEqual([answer.status, answer.body.code], [404, 'item_not_found'])
    }
  })

  test('does not give out a delayed message', async () => {
    const { post, backend } = await serveDesk()
    const messages = [{ body: '{}', delayMs: 60_000 }]
    const [sent] = await backend.send({ queue: 'client-dev-handoff', messages })
    const id = sent?.status === 'created' ? sent.id : ''
    const { status, body } = await post('/claim', { id })
    assert.deepEqual([status, body.code, body.because], [409, 'item_not_ready', 'delayed'])
  })

  test.each<[string, object, string]>([
    ['/claim', { for: 'soon' }, 'for'],
    ['/claim', { for: '0s' }, 'for'],
    ['/claim', { for: '13h' }, 'for'],
    ['/claim', { id: 7 }, 'id'],
    ['/claim', { id: '' }, 'id'],
    ['/claim', { note: 'x' }, 'note'],
    ['/claim', [], 'body'],
    ['/x/renew', { for: '13h' }, 'for'],
    ['/x/renew', { token: 'x' }, 'token'],
    ['/x/note', {}, 'note'],
    ['/x/note', { note: '' }, 'note'],
    ['/x/note', { note: 'x'.repeat(4_097) }, 'note'],
    ['/x/resolve', { decision: 'yes' }, 'decision'],
    [`/${'x'.repeat(129)}/resolve`, {}, 'id'],
  ])('refuses %s with %o', async (path, body, field) => {
    const { post } = await serveDesk()
    const answer = await post(path, body)
    assert.equal(answer.status, 400, answer.text)
    assert.equal(answer.body.errors[0].field, field)
  })

  test.each([
    ['?tab=theirs', 'tab'],
    ['?limit=0', 'limit'],
    ['?after=x', 'after'],
    ['?state=waiting', 'state'],
  ])('refuses %s', async (query, field) => {
    const { as } = await serveDesk()
    const { status, body } = await as(keys.operator, query)
    assert.deepEqual([status, body.errors?.[0].field], [400, field])
  })
})
