import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { type Answer, type Call, keys, type Scene, serveAcademy } from './scene.ts'

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
    })
    assert.equal(Date.parse(until) - Date.parse(set_at), 3_600_000)
    const { body: listed } = await asAdmin(scene, '/switches')
    assert.deepEqual(listed.switches, [{ ...set.body, source: 'store' }])

    await scene.enqueue()
    await assert.rejects(scene.claim())
    assert.equal((await asAdmin(scene, path, { method: 'DELETE' })).status, 204)
    assert.equal((await scene.claim()).job?.type, 'OCR')

    assert.equal((await asAdmin(scene, path, { method: 'DELETE' })).status, 404)
    const { body } = await asAdmin(scene, '/switches/events?limit=1')
    assert.deepEqual([body.events[0].event, body.events[0].by], ['lifted', 'root'])
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

  test.each<[string, object | string, number]>([
    ['/switches/type/OCR', {}, 400],
    ['/switches/type/OCR', { mode: 'pause' }, 400],
    ['/switches/type/OCR', { mode: 'hold', note: 7 }, 400],
    ['/switches/type/OCR', { mode: 'hold', for: 'soon' }, 400],
    ['/switches/type/OCR', { mode: 'hold', by: 'somebody else' }, 400],
    ['/switches/type/OCR', [], 400],
    ['/switches/owner/OCR', { mode: 'hold' }, 400],
    [`/switches/type/${'x'.repeat(2_000)}`, { mode: 'hold' }, 400],
    ['/switches/queue/nope', { mode: 'hold' }, 404],
  ])('refuse %s with %o', async (path, body, status) => {
    const scene = await serveAcademy()
    const answer = await asAdmin(scene, path, { method: 'PUT', body })
    assert.equal(answer.status, status, answer.text)
    const { body: listed } = await asAdmin(scene, '/switches')
    assert.deepEqual(listed.switches, [])
  })

  test('refuse a page size that is none', async () => {
    const scene = await serveAcademy()
    for (const limit of ['0', 'many', '1001']) {
      assert.equal((await asAdmin(scene, `/switches/events?limit=${limit}`)).status, 400)
    }
  })
})
