import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { describe, onTestFinished, test } from 'vitest'
import { keys, type Scene, serveAcademy } from './scene.ts'

/** A request whose body the test sends as it likes. */
async function beginPost(scene: Scene, headers: readonly string[]): Promise<Socket> {
  const socket = connect(scene.server.port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => {})
  await once(socket, 'connect')
  const lines = [
    'POST /jobs/basic HTTP/1.1',
    'host: 127.0.0.1',
    `x-api-key: ${keys.admin}`,
    'content-type: application/json',
    ...headers,
  ]
  socket.write(`${lines.join('\r\n')}\r\n\r\n`)
  return socket
}

/** What the server answers, as far as its status goes. */
async function statusOn(socket: Socket): Promise<number> {
  let text = ''
  for await (const chunk of socket) {
    text += chunk
    const [, status] = /^HTTP\/1\.1 (\d{3})/.exec(text) ?? []
    if (status !== undefined) return Number(status)
  }
  throw new Error(`no answer: ${text}`)
}

const ocr = { type: 'OCR', payload: { examId: 'e-1' } }

describe('a body', () => {
  test('may have as many bytes as the server allows, and not one more', async () => {
    const scene = await serveAcademy({ bodyBytesMax: 2_000 })
    const frame = JSON.stringify({ type: 'ANY', payload: '' }).length
    const post = (bytes: number): Promise<{ status: number; body: { code?: string } }> => {
      const body = { type: 'ANY', payload: 'x'.repeat(bytes - frame) }
      return scene.call('/jobs/basic', { key: keys.admin, method: 'POST', body })
    }
    assert.equal((await post(2_000)).status, 202)
    const { status, body } = await post(2_001)
    assert.deepEqual([status, body.code], [413, 'too_large'])
    assert.equal(await scene.stored(), 1)
  })

  test('that says it is too large is refused before it arrives', async () => {
    const scene = await serveAcademy()
    const socket = await beginPost(scene, ['content-length: 1048577'])
    assert.equal(await statusOn(socket), 413)
  })

  test('that does not say how large it is, is cut off where it gets too large', async () => {
    const scene = await serveAcademy({ bodyBytesMax: 4_096 })
    const socket = await beginPost(scene, ['transfer-encoding: chunked'])
    const status = statusOn(socket)
    socket.write(`1001\r\n${'x'.repeat(0x1001)}\r\n`)
    assert.equal(await status, 413)
  })

  test('that is too large for its queue is refused', async () => {
    const scene = await serveAcademy({ bodyBytesMax: 2 * 2 ** 20 })
    const body = { type: 'ANY', payload: 'x'.repeat(2 ** 20) }
    const answer = await scene.call('/jobs/basic', { key: keys.admin, method: 'POST', body })
    assert.deepEqual([answer.status, answer.body.code], [413, 'too_large'])
    assert.equal(await scene.stored(), 0)
  })

  test('that stalls is given up after its time', async () => {
    const scene = await serveAcademy({ bodyTimeout: '200ms' })
    const socket = await beginPost(scene, ['content-length: 100'])
    socket.write('{"type":')
    assert.equal(await statusOn(socket), 408)
    assert.equal(await scene.stored(), 0)
  })

  test('whose sender goes away in the middle harms nobody', async () => {
    const scene = await serveAcademy()
    const socket = await beginPost(scene, ['content-length: 100'])
    socket.write('{"type":')
    assert.equal(await scene.stored(), 0)
    socket.destroy()
    assert.equal((await scene.call('/readyz')).status, 200)
    assert.equal(await scene.stored(), 0)
  })

  test.each([
    ['text/plain', undefined],
    ['application/x-www-form-urlencoded', undefined],
    ['application/json; charset=latin1', undefined],
    ['', undefined],
    ['application/json', 'gzip'],
  ])('of type %s and encoding %s is refused', async (type, encoding) => {
    const scene = await serveAcademy()
    const text = JSON.stringify(ocr)
    const response = await fetch(`${scene.server.url}/jobs/basic`, {
      method: 'POST',
      headers: {
        'x-api-key': keys.admin,
        'content-type': type,
        ...(encoding !== undefined && { 'content-encoding': encoding }),
      },
      body: encoding === 'gzip' ? gzipSync(text) : text,
    })
    assert.equal(response.status, 415)
    assert.equal(await scene.stored(), 0)
  })

  test('of JSON in UTF-8 is taken however it says so', async () => {
    const scene = await serveAcademy()
    for (const type of ['application/json; charset=UTF-8', 'Application/JSON;charset="utf-8"']) {
      const call = { key: keys.admin, method: 'POST', body: ocr, headers: { 'content-type': type } }
      assert.equal((await scene.call('/jobs/basic', call)).status, 202)
    }
  })
})

describe('the rate of enqueueing', () => {
  test('is limited for each caller, and says what is left and when to come back', async () => {
    const scene = await serveAcademy({ enqueueRate: { max: 3, per: '1h' } })
    const post = (key: string): ReturnType<Scene['call']> =>
      scene.call('/jobs/basic', { key, method: 'POST', body: ocr })
    const left = []
    for (let count = 0; count < 3; count += 1) {
      const { status, headers } = await post(keys.internal)
      assert.equal(status, 202)
      left.push(headers.get('ratelimit-remaining'))
    }
    assert.deepEqual(left, ['2', '1', '0'])
    const refused = await post(keys.internal)
    assert.deepEqual([refused.status, refused.body.code], [429, 'rate_limited'])
    assert.equal(refused.headers.get('ratelimit-limit'), '3')
    assert.equal(refused.headers.get('ratelimit-remaining'), '0')
    assert.ok(Number(refused.headers.get('retry-after')) > 3_000)
    assert.equal(refused.headers.get('retry-after'), refused.headers.get('ratelimit-reset'))
    assert.equal((await post(keys.admin)).status, 202)
    assert.equal((await scene.call('/jobs', { key: keys.internal })).status, 200)
    assert.equal(await scene.stored(), 4)
  })

  test('counts what is tried again as well, and what is refused for another reason', async () => {
    const scene = await serveAcademy({ enqueueRate: { max: 2, per: '1h' } })
    const id = await scene.enqueue({ owner: 'alice' })
    await scene.backend.jobs?.cancel({ id })
    const retry = (): ReturnType<Scene['call']> =>
      scene.call(`/jobs/${id}/retry`, { method: 'POST', key: keys.alice })
    const missing = await scene.call('/jobs/x/retry', { method: 'POST', key: keys.alice })
    assert.equal(missing.status, 404)
    assert.deepEqual([(await retry()).status, (await retry()).status], [202, 429])
  })
})

describe('every answer', () => {
  test('carries safe headers and a request id, and allows no other site', async () => {
    const scene = await serveAcademy()
    const headers = { origin: 'https://evil.test' }
    for (const path of ['/healthz', '/jobs', '/jobs/x', '/nothing']) {
      const answer = await scene.call(path, { key: keys.alice, headers })
      assert.equal(answer.headers.get('x-content-type-options'), 'nosniff', path)
      assert.equal(answer.headers.get('cache-control'), 'no-store', path)
      assert.match(answer.headers.get('content-security-policy') ?? '', /default-src 'none'/)
      assert.match(answer.headers.get('x-request-id') ?? '', /^[0-9a-f-]{36}$/)
      assert.equal(answer.headers.get('access-control-allow-origin'), null)
    }
    const preflight = await scene.call('/jobs/basic', { method: 'OPTIONS', headers })
    assert.equal(preflight.status, 401)
  })

  test('repeats a request id that is one, and replaces any other', async () => {
    const scene = await serveAcademy()
    const idFor = async (id: string): Promise<string | null> =>
      (await scene.call('/jobs', { headers: { 'x-request-id': id } })).headers.get('x-request-id')
    assert.equal(await idFor('trace_1.2-3'), 'trace_1.2-3')
    assert.notEqual(await idFor('{"level":50}'), '{"level":50}')
    assert.notEqual(await idFor('x'.repeat(65)), 'x'.repeat(65))
  })

  test('is 414 to an address that is too long', async () => {
    const scene = await serveAcademy()
    const { status } = await scene.call(`/jobs?after=${'x'.repeat(5_000)}`, { key: keys.admin })
    assert.equal(status, 414)
  })
})
