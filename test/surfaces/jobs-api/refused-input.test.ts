/** Whatever is sent: a typed refusal that quotes nothing, and nothing stored. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { describe, test } from 'vitest'
import { type Answer, type Call, keys, type Scene, serveAcademy } from './scene.ts'

const ocr = { type: 'OCR', payload: { examId: 'e-1' } }

function post(scene: Scene, body: unknown, call: Call = {}): Promise<Answer> {
  return scene.call('/jobs/basic', { key: keys.admin, method: 'POST', body, ...call })
}

/** As text, since JSON.stringify would escape or drop what is to be tested. */
function nested(depth: number, open = '[', close = ']'): string {
  return open.repeat(depth) + close.repeat(depth)
}

const private_ = 'do-not-quote-me'

describe('a body that is refused', () => {
  test.each([
    ['is empty', ''],
    ['is no JSON', `{"type": ${private_}`],
    ['ends too early', '{"type":"ANY","payload":'],
    ['has a comma too many', '{"type":"ANY","payload":1,}'],
    ['holds NaN', '{"type":"ANY","payload":NaN}'],
    ['is nested too deeply', `{"type":"ANY","payload":${nested(64)}}`],
    ['is nested without end', `{"type":"ANY","payload":${nested(100_000)}}`],
    ['is nested without end in objects', `{"type":"ANY","payload":${'{"a":'.repeat(9_999)}`],
  ])('%s: invalid_json', async (_name, body) => {
    const scene = await serveAcademy()
    const answer = await post(scene, body)
    assert.equal(answer.status, 400)
    assert.equal(answer.body.code, 'invalid_json')
    assert.ok(!answer.text.includes(private_))
    assert.equal(await scene.stored(), 0)
  })

  test.each([
    ['null', 'null', 'body'],
    ['an array', [ocr], 'body'],
    ['a text', '"OCR"', 'body'],
    ['an unknown field', { ...ocr, prioritty: private_ }, 'prioritty'],
    ['__proto__ as a field', '{"type":"ANY","payload":1,"__proto__":{"owner":"x"}}', '__proto__'],
    ['constructor as a field', { ...ocr, constructor: {} }, 'constructor'],
    ['a type of another kind', { ...ocr, type: 7 }, 'type'],
    ['an unknown type', { ...ocr, type: private_ }, 'type'],
    ['a type that every object has', { ...ocr, type: 'constructor' }, 'type'],
    ['a type with a NUL', { ...ocr, type: 'OCR\0' }, 'type'],
    ['no payload', { type: 'OCR' }, 'payload'],
    ['a payload of null', { type: 'OCR', payload: null }, 'payload'],
    ['a missing field', { type: 'OCR', payload: { pages: 1 } }, 'payload.examId'],
    ['a field of another kind', { type: 'OCR', payload: { examId: 7 } }, 'payload.examId'],
    ['a field out of range', { type: 'OCR', payload: { examId: '' } }, 'payload.examId'],
    ['a NUL in the payload', { type: 'ANY', payload: { a: 'x\0y' } }, 'payload.a'],
    ['a lone surrogate', '{"type":"ANY","payload":{"a":"x\\ud800"}}', 'payload.a'],
    ['a lone surrogate in a key', '{"type":"ANY","payload":{"\\udfff":1}}', 'payload.\ufffd'],
    ['__proto__ in the payload', '{"type":"ANY","payload":{"__proto__":1}}', 'payload.__proto__'],
    ['an owner with a NUL', { ...ocr, owner: 'a\0' }, 'owner'],
    ['an owner with a lone surrogate', '{"type":"ANY","payload":1,"owner":"\\ud800"}', 'owner'],
    ['an empty owner', { ...ocr, owner: '' }, 'owner'],
    ['a key that is too long', { ...ocr, idempotency_key: 'x'.repeat(257) }, 'idempotency_key'],
    ['a key of another kind', { ...ocr, idempotency_key: 7 }, 'idempotency_key'],
    ['a tenant with a blank', { ...ocr, tenant: 'a b' }, 'tenant'],
    ['tags that are no list', { ...ocr, tags: 'a' }, 'tags'],
    ['a tag with a NUL', { ...ocr, tags: ['a', '\0'] }, 'tags[1]'],
    ['attempts out of range', { ...ocr, attempts: 0 }, 'attempts'],
    ['attempts that are not whole', { ...ocr, attempts: 1.5 }, 'attempts'],
    ['attempts as text', { ...ocr, attempts: '3' }, 'attempts'],
    ['a delay that is none', { ...ocr, delay: private_ }, 'delay'],
    ['a delay that is too long', { ...ocr, delay: '4000d' }, 'delay'],
    ['a time that is none', { ...ocr, run_at: private_ }, 'run_at'],
    ['a time in the past', { ...ocr, run_at: '2001-01-01T00:00:00Z' }, 'run_at'],
    ['a time too far away', { ...ocr, run_at: '9999-01-01T00:00:00Z' }, 'run_at'],
    ['a limit that is none', { ...ocr, expires_after: private_ }, 'expires_after'],
    ['a limit that is too short', { ...ocr, expires_after: '1ms' }, 'expires_after'],
    ['a delay as a number', { ...ocr, delay: 5 }, 'delay'],
  ])('has %s: invalid_request that names the field', async (_name, body, field) => {
    const scene = await serveAcademy()
    const answer = await post(scene, body)
    assert.equal(answer.status, 400, answer.text)
    assert.equal(answer.body.code, 'invalid_request')
    assert.equal(answer.body.errors[0].field, field)
    assert.deepEqual(Object.keys(answer.body.errors[0]), ['field', 'expected'])
    assert.ok(!answer.text.includes(private_), answer.text)
    assert.equal(await scene.stored(), 0)
  })

  const duration = "a duration such as '250ms', '30s', '6m', '12h' or '14d'"

  test.each([
    [{ delay: 'soon' }, 'delay', duration],
    [{ delay: '4000d' }, 'delay', 'a duration, 0s to 10 years'],
    [{ expires_after: 'soon' }, 'expires_after', duration],
    [
      { idempotency_key: 'a', throttle: { key: 'k', window: '1m' } },
      'throttle',
      'only one of idempotency_key, throttle, debounce',
    ],
    [{ delay: '1m', run_at: '2035-01-01' }, 'run_at', 'only one of them'],
  ])('with %j is told so in the words of the API', async (options, field, expected) => {
    const scene = await serveAcademy()
    const { body } = await post(scene, { ...ocr, ...options })
    assert.deepEqual(body.errors, [{ field, expected }])
  })

  test('with a time that is too far away is told the first and the last time', async () => {
    const scene = await serveAcademy()
    const { body } = await post(scene, { ...ocr, run_at: '9999-01-01' })
    assert.match(body.errors[0].expected, /^a time from \d{4}-\S+Z to \d{4}-\S+Z$/)
  })

  test('has more mistakes than anybody reads, of which some are named', async () => {
    const scene = await serveAcademy()
    const users = Array.from({ length: 5_000 }, () => ({}))
    const many = await post(scene, { type: 'LOGIN', payload: { email: 'x', users } })
    assert.equal(many.body.errors.length, 20)
    const fields = Object.fromEntries(users.map((_, index) => [`field-${index}`, 1]))
    assert.equal((await post(scene, { ...ocr, ...fields })).body.errors.length, 20)
  })

  test('is not valid UTF-8', async () => {
    const scene = await serveAcademy()
    const response = await fetch(`${scene.server.url}/jobs/basic`, {
      method: 'POST',
      headers: { 'x-api-key': keys.admin, 'content-type': 'application/json' },
      body: Buffer.from('{"type":"ANY","payload":"\xff"}', 'latin1'),
    })
    assert.equal(response.status, 400)
    assert.equal(await scene.stored(), 0)
  })

  test('has the deepest payload that is allowed, which is not refused', async () => {
    const scene = await serveAcademy()
    const brackets = '\\"[[[['.repeat(50)
    const body = `{"type":"ANY","payload":[${nested(62)},"${brackets}"]}`
    assert.equal((await post(scene, body)).status, 202)
  })
})

describe('an address that is refused', () => {
  test.each(['nope', 'video', 'constructor', '__proto__', '%00', '%ff', 'basic%20', 'Basic'])(
    'names the queue %s: unknown_queue',
    async (name) => {
      const scene = await serveAcademy()
      const call = { key: keys.internal, method: 'POST', body: ocr }
      const { status, body } = await scene.call(`/jobs/${name}`, call)
      assert.equal(status, 400)
      assert.equal(body.code, 'unknown_queue')
      assert.equal(await scene.stored(), 0)
    },
  )

  test.each([
    'limit=0',
    'limit=101',
    'limit=x',
    'limit=1.5',
    'status=done',
    'after=nonsense',
    'limit=1&limit=2',
    'sort=asc',
    '__proto__=1',
  ])('lists with ?%s: invalid_request', async (query) => {
    const scene = await serveAcademy()
    const { status, body } = await scene.call(`/jobs?${query}`, { key: keys.admin })
    assert.equal(status, 400)
    assert.equal(body.code, 'invalid_request')
    assert.equal(body.errors[0].field, query.split('=')[0])
  })

  test.each(['x', '%00', '%', '..%2f..', 'a'.repeat(3_000), '\u{1F600}'])(
    'names the job %s: job_not_found',
    async (id) => {
      const scene = await serveAcademy()
      const { status, body } = await scene.call(`/jobs/${id}`, { key: keys.alice })
      assert.equal(status, 404)
      assert.equal(body.code, 'job_not_found')
    },
  )
})

describe('any input', () => {
  const anyJson = fc.json({ maxDepth: 5 })
  const almostRight = fc
    .record(
      {
        type: fc.oneof(fc.constantFrom('OCR', 'LOGIN', 'ANY', '__proto__'), fc.string()),
        payload: fc.oneof(fc.jsonValue(), fc.record({ examId: fc.anything() })),
        idempotency_key: fc.oneof(fc.string({ unit: 'binary' }), fc.integer()),
        owner: fc.oneof(fc.string({ unit: 'binary', maxLength: 300 }), fc.constant(null)),
        tenant: fc.string(),
        tier: fc.string(),
        tags: fc.oneof(fc.array(fc.string({ unit: 'binary' })), fc.string()),
        delay: fc.oneof(fc.constantFrom('1s', '-1s', '1e9d', ''), fc.integer()),
        attempts: fc.oneof(fc.integer(), fc.double()),
      },
      { requiredKeys: [] },
    )
    .map((body) => safeStringify(body))
  const headerValue = fc
    .string({ maxLength: 40 })
    .map((text) => text.replaceAll(/[^\x20-\x7e]/g, ''))

  test('is answered with 202 or a typed refusal, and only a 202 stores something', async () => {
    const scene = await serveAcademy({ enqueueRate: { max: 100_000, per: '1s' } })
    let taken = new Set<string>()
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(anyJson, almostRight, fc.string({ unit: 'binary' })),
        fc.option(headerValue, { nil: undefined }),
        fc.constantFrom(keys.admin, keys.internal),
        async (body, key, caller) => {
          const headers = key === undefined ? {} : { 'idempotency-key': key }
          const answer = await post(scene, body, { headers, key: caller })
          assert.ok([202, 400, 422].includes(answer.status), `${answer.status} for ${body}`)
          if (answer.status === 202) taken = taken.add(answer.body.job_id)
          else assert.equal(typeof answer.body.code, 'string')
        },
      ),
      { numRuns: 400 },
    )
    const statistics = await scene.backend.queueStatistics({ queue: 'academy-dev-basic' })
    assert.equal(statistics.ready + statistics.delayed, taken.size)
  })

  test('of a user is refused without a word about the inside', async () => {
    const scene = await serveAcademy({
      userQueues: ['mail'],
      enqueueRate: { max: 100_000, per: '1s' },
    })
    const words = /queue|store|sqlite|worker|stack|millrace\.db|\.ts\b/i
    const call = { key: keys.alice, method: 'POST' }
    await fc.assert(
      fc.asyncProperty(
        fc.jsonValue(),
        fc.constantFrom('/jobs/mail', '/jobs/x'),
        async (value, at) => {
          for (const body of [
            value,
            { payload: value },
            { type: 'SEND', payload: { to: value } },
          ]) {
            const answer = await scene.call(at, { ...call, body: JSON.stringify(body) })
            if (answer.status === 202) continue
            const { type, title, detail, code } = answer.body
            assert.ok(!words.test(JSON.stringify([type, title, detail, code])), answer.text)
            for (const { expected } of answer.body.errors ?? [])
              assert.doesNotMatch(expected, words)
          }
        },
      ),
      { numRuns: 60 },
    )
  })
})

function safeStringify(value: unknown): string {
  try {
    return JSON.stringify(value) ?? ''
  } catch {
    return 'null'
  }
}
