import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { mountAcademy } from './mounted.ts'
import { type Answer, type Call, keys, type Scene, serveAcademy, token } from './scene.ts'

const asAdmin = (scene: Scene, path: string, call: Call = {}): Promise<Answer> =>
  scene.call(path, { key: keys.admin, ...call })

describe('kill switches over HTTP', () => {
  test('are set, listed, lifted, and written down', async () => {
    const scene = await serveAcademy()
    const path = '/switches/type/OCR'
    const set = await asAdmin(scene, path, {
      method: 'PUT',
      body: { mode: 'hold', note: 'too dear', for: '1h' },
    })
    assert.equal(set.status, 200, set.text)
    const { set_at, until, ...facts } = set.body
    assert.deepEqual(facts, {
      ...{ scope: 'type', value: 'OCR', mode: 'hold', by: 'root', note: 'too dear' },
      source: 'store',
    })
    assert.equal(Date.parse(until) - Date.parse(set_at), 3_600_000)
    const { body: listed } = await asAdmin(scene, '/switches')
    assert.deepEqual(listed.switches, [set.body])

    await scene.enqueue()
    await assert.rejects(scene.claim())
    const lifted = await asAdmin(scene, `${path}?note=paid`, { method: 'DELETE' })
    assert.deepEqual([lifted.status, lifted.text], [204, ''])
    assert.equal((await scene.claim()).job?.type, 'OCR')

    const again = await asAdmin(scene, path, { method: 'DELETE' })
    assert.deepEqual([again.status, again.body.code], [404, 'switch_not_on'])
    const { body } = await asAdmin(scene, '/switches/events?limit=1')
    const [{ at, ...event }] = body.events
    assert.match(at, /^\d{4}-.*Z$/)
    assert.deepEqual(event, {
      ...{ event: 'lifted', scope: 'type', value: 'OCR', mode: null, by: 'root', note: 'paid' },
      until: null,
    })
    const { body: rest } = await asAdmin(scene, `/switches/events?after=${body.next}`)
    assert.deepEqual([rest.events.length, rest.events[0].event, rest.next], [1, 'set', null])
  })

  test('name a queue by its key or by its name', async () => {
    const scene = await serveAcademy()
    for (const queue of ['basic', 'academy-dev-basic']) {
      const put = { method: 'PUT', body: { mode: 'divert' } }
      const { status, body } = await asAdmin(scene, `/switches/queue/${queue}`, put)
      assert.deepEqual([status, body.value], [200, 'academy-dev-basic'])
    }
  })

  test('take any value that an address can carry', async () => {
    const scene = await serveAcademy()
    const tenant = '50%/ä b?'
    const path = `/switches/tenant/${encodeURIComponent(tenant)}`
    const { body } = await asAdmin(scene, path, { method: 'PUT', body: { mode: 'hold' } })
    assert.equal(body.value, tenant)
    assert.equal((await asAdmin(scene, path, { method: 'DELETE' })).status, 204)
  })

  test('are signed with the subject of a token, since its kind names nobody', async () => {
    const scene = await serveAcademy()
    const bearer = await token({ sub: 'anna', role: 'admin' })
    const headers = { authorization: `Bearer ${bearer}` }
    const put = { method: 'PUT', body: { mode: 'hold' }, headers }
    assert.equal((await scene.call('/switches/type/OCR', put)).body.by, 'anna')
  })

  test('of the environment are shown without a time, and cannot be lifted', async () => {
    const paused = { scope: 'name', value: 'PAUSED', mode: 'hold', by: 'environment' } as const
    const record = { ...paused, note: null, setAt: 0, until: null, source: 'environment' } as const
    const api = await mountAcademy({
      change: (mill) => ({ ...mill, switches: { ...mill.switches, list: async () => [record] } }),
    })
    const { body } = await api.call('/switches', { key: keys.admin })
    const { setAt: _, ...shown } = record
    assert.deepEqual(body.switches, [{ ...shown, set_at: null }])
    const lift = { key: keys.admin, method: 'DELETE' }
    assert.equal((await api.call('/switches/name/PAUSED', lift)).body.code, 'switch_not_on')
  })

  test.each<[string, object | string, number, string]>([
    ['/switches/type/OCR', {}, 400, 'mode'],
    ['/switches/type/OCR', { mode: 'pause' }, 400, 'mode'],
    ['/switches/type/OCR', { mode: 'hold', note: 7 }, 400, 'note'],
    ['/switches/type/OCR', { mode: 'hold', note: 'x'.repeat(1_025) }, 400, 'note'],
    ['/switches/type/OCR', { mode: 'hold', for: 'soon' }, 400, 'for'],
    ['/switches/type/OCR', { mode: 'hold', for: '0s' }, 400, 'for'],
    ['/switches/type/OCR', { mode: 'hold', for: '9999d' }, 400, 'for'],
    ['/switches/type/OCR', { mode: 'hold', by: 'somebody else' }, 400, 'by'],
    ['/switches/type/OCR', [], 400, 'body'],
    ['/switches/owner/OCR', { mode: 'hold' }, 400, 'scope'],
    [`/switches/type/${'x'.repeat(2_000)}`, { mode: 'hold' }, 400, 'value'],
    ['/switches/queue/nope', { mode: 'hold' }, 404, 'value'],
  ])('refuse %s with %o', async (path, body, status, field) => {
    const scene = await serveAcademy()
    const answer = await asAdmin(scene, path, { method: 'PUT', body })
    assert.equal(answer.status, status, answer.text)
    assert.equal(answer.body.errors[0].field, field)
    const { body: listed } = await asAdmin(scene, '/switches')
    assert.deepEqual(listed.switches, [])
  })

  test.each([
    ['GET', '/switches/events?limit=0', 'limit'],
    ['GET', '/switches/events?limit=many', 'limit'],
    ['GET', '/switches/events?limit=101', 'limit'],
    ['GET', '/switches/events?limit=1&limit=2', 'limit'],
    ['GET', '/switches/events?after=x', 'after'],
    ['GET', '/switches/events?before=1', 'before'],
    ['DELETE', '/switches/type/OCR?nota=1', 'nota'],
  ])('refuse %s %s', async (method, path, field) => {
    const scene = await serveAcademy()
    const { status, body } = await asAdmin(scene, path, { method })
    assert.deepEqual([status, body.errors?.[0].field], [400, field])
  })
})
