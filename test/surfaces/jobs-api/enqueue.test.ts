import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { type Answer, basicName, type Call, keys, type Scene, serveAcademy } from './scene.ts'

const ocr = { type: 'OCR', payload: { examId: 'e-1' } }

function post(scene: Scene, body: unknown, call: Call & { queue?: string } = {}): Promise<Answer> {
  const { queue = 'basic', ...others } = call
  return scene.call(`/jobs/${queue}`, { key: keys.admin, method: 'POST', body, ...others })
}

describe('enqueueing over HTTP', () => {
  test('answers 202 with the id, the status and the address of the job', async () => {
    const scene = await serveAcademy()
    const { status, body, headers } = await post(scene, ocr)
    assert.equal(status, 202)
    assert.deepEqual(body, { job_id: body.job_id, status: 'pending' })
    assert.equal(headers.get('location'), `/jobs/${body.job_id}`)
    assert.equal(headers.get('idempotent-replayed'), null)
    const delivery = await scene.claim()
    assert.equal(delivery.job?.id, body.job_id)
    assert.deepEqual(JSON.parse(delivery.body), ocr.payload)
  })

  test('takes the name on the backend as well as the key in the app', async () => {
    const scene = await serveAcademy()
    assert.equal((await post(scene, ocr, { queue: basicName })).status, 202)
    const mail = await post(scene, { payload: { to: 'x' } }, { queue: 'outgoing-mail' })
    assert.equal(mail.status, 202)
  })

  test('needs no type where there is only one', async () => {
    const scene = await serveAcademy()
    const { body } = await post(scene, { payload: { to: 'carol' } }, { queue: 'mail' })
    const { body: job } = await scene.call(`/jobs/${body.job_id}`, { key: keys.admin })
    assert.equal(job.job_type, 'SEND')
    const refused = await post(scene, { payload: { examId: 'e-1' } })
    assert.equal(refused.status, 400)
    assert.deepEqual(refused.body.errors, [{ field: 'type', expected: 'one of OCR, LOGIN, ANY' }])
  })

  test('keeps everything that was said about the job', async () => {
    const scene = await serveAcademy()
    const said = {
      owner: 'alice',
      tenant: 't-1',
      tier: 'lite',
      tags: ['a', 'b'],
      trace_id: 'trace-1',
      attempts: 7,
      delay: '10m',
      idempotency_key: 'k-1',
    }
    const { body } = await post(scene, { ...ocr, ...said })
    const { body: job } = await scene.call(`/jobs/${body.job_id}`, { key: keys.admin })
    const { attempts, delay, ...others } = said
    for (const [field, value] of Object.entries(others)) assert.deepEqual(job[field], value, field)
    assert.equal(job.max_attempts, attempts)
    assert.equal(delay, '10m')
    assert.deepEqual(await scene.backend.receive({ queue: basicName, max: 1 }), [])
  })

  test('makes what a service enqueues without an owner its own', async () => {
    const scene = await serveAcademy()
    const { body } = await post(scene, ocr, { key: keys.internal })
    const { status, body: job } = await scene.call(`/jobs/${body.job_id}`, { key: keys.internal })
    assert.equal(status, 200)
    assert.equal(job.owner, 'billing')
    const given = await post(scene, { ...ocr, owner: 'alice' }, { key: keys.internal })
    assert.equal((await scene.call(`/jobs/${given.body.job_id}`, { key: keys.alice })).status, 200)
  })
})

describe('a throttle or a debounce over HTTP', () => {
  test('returns the job of its key', async () => {
    const scene = await serveAcademy()
    const throttle = { key: 'k', window: '1m' }
    const first = await post(scene, { ...ocr, throttle })
    const again = await post(scene, { ...ocr, payload: { examId: 'e-2' }, throttle })
    assert.deepEqual([again.status, again.body], [202, first.body])
    assert.equal(again.headers.get('idempotent-replayed'), 'true')
  })

  test('replaces the payload of a job that waits', async () => {
    const scene = await serveAcademy()
    const debounce = { key: 'k', window: '10s', max_wait: '1m' }
    const { body } = await post(scene, { ...ocr, debounce })
    const last = await post(scene, { ...ocr, payload: { examId: 'e-2' }, debounce })
    assert.deepEqual(last.body, body)
    const { body: job } = await scene.call(`/jobs/${body.job_id}`, { key: keys.admin })
    assert.deepEqual(job.payload, { examId: 'e-2' })
  })

  test.each<[string, object, string]>([
    ['throttle', { throttle: 'k' }, 'an object with key, window'],
    ['throttle.windows', { throttle: { key: 'k', windows: '1s' } }, 'one of key, window'],
    ['throttle.key', { throttle: { key: 1, window: '1s' } }, 'a string'],
    ['throttle.window', { throttle: { key: 'k', window: '1ms' } }, 'a duration, 100ms to 30d'],
    [
      'debounce.max_wait',
      { debounce: { key: 'k', window: '2s', max_wait: '1s' } },
      'a duration, 2s to 30d',
    ],
  ])('with a wrong %s is refused', async (field, options, expected) => {
    const scene = await serveAcademy()
    const { status, body } = await post(scene, { ...ocr, ...options })
    assert.equal(status, 400)
    assert.deepEqual(body.errors, [{ field, expected }])
  })
})

describe('an idempotency key over HTTP', () => {
  test('stands for one job, with the status that it has by now', async () => {
    const scene = await serveAcademy()
    const keyed = { ...ocr, idempotency_key: 'once' }
    const first = await post(scene, keyed)
    const second = await post(scene, keyed)
    assert.deepEqual(second.body, first.body)
    assert.equal(second.headers.get('idempotent-replayed'), 'true')
    await scene.settle(await scene.claim(), { kind: 'acknowledge', result: '{}' })
    const third = await post(scene, keyed)
    assert.equal(third.status, 202)
    assert.deepEqual(third.body, { job_id: first.body.job_id, status: 'completed' })
    assert.equal(await scene.stored(), 1)
  })

  test.each(['plain-key', '"plain-key"'])('is also the header %s', async (header) => {
    const scene = await serveAcademy()
    const headers = { 'idempotency-key': header }
    const first = await post(scene, ocr, { headers })
    const second = await post(scene, { ...ocr, idempotency_key: 'plain-key' })
    const both = await post(scene, { ...ocr, idempotency_key: 'plain-key' }, { headers })
    assert.equal(second.body.job_id, first.body.job_id)
    assert.equal(both.body.job_id, first.body.job_id)
  })

  test('in the header reads quotes as the draft writes them', async () => {
    const scene = await serveAcademy()
    const headers = { 'idempotency-key': '"a \\"b\\" \\\\c"' }
    const { body } = await post(scene, ocr, { headers })
    const { body: job } = await scene.call(`/jobs/${body.job_id}`, { key: keys.admin })
    assert.equal(job.idempotency_key, 'a "b" \\c')
  })

  test('with another payload is refused with 422', async () => {
    const scene = await serveAcademy()
    await post(scene, { ...ocr, idempotency_key: 'once' })
    const other = { ...ocr, payload: { examId: 'e-2' }, idempotency_key: 'once' }
    const { status, body } = await post(scene, other)
    assert.equal(status, 422)
    assert.equal(body.code, 'idempotency_conflict')
    assert.equal(await scene.stored(), 1)
  })

  test('that differs between header and body is refused', async () => {
    const scene = await serveAcademy()
    const headers = { 'idempotency-key': 'one' }
    const { status, body } = await post(scene, { ...ocr, idempotency_key: 'two' }, { headers })
    assert.equal(status, 400)
    assert.equal(body.errors[0].field, 'idempotency_key')
    for (const header of ['', '""', 'x'.repeat(257), 'caf\u00e9']) {
      const refused = await post(scene, ocr, { headers: { 'idempotency-key': header } })
      assert.equal(refused.status, 400, header)
      assert.equal(refused.body.errors[0].field, 'Idempotency-Key')
    }
    assert.equal(await scene.stored(), 0)
  })

  test('sent fifty times at once gives one job and one answer', async () => {
    const scene = await serveAcademy()
    const headers = { 'idempotency-key': 'all-at-once' }
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => post(scene, ocr, { headers, key: keys.internal })),
    )
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([202]))
    assert.equal(new Set(answers.map(({ text }) => text)).size, 1)
    const created = answers.filter(({ headers: h }) => h.get('idempotent-replayed') === null)
    assert.equal(created.length, 1)
    assert.equal(await scene.stored(), 1)
  })

  test('belongs to its owner', async () => {
    const scene = await serveAcademy()
    const keyed = { ...ocr, idempotency_key: 'once' }
    const one = await post(scene, { ...keyed, owner: 'alice' })
    const other = await post(scene, { ...keyed, owner: 'bob' })
    assert.notEqual(one.body.job_id, other.body.job_id)
  })
})
