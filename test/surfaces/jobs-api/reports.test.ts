/** Reports of a program that has received a job over the SQS wire, as HTTP requests. */
import assert from 'node:assert/strict'
import { describe, onTestFinished, test } from 'vitest'
import { openSqlite } from '../../../src/backends/sqlite/index.ts'
import { serve } from '../../../src/server.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { type Answer, basicName, callApi, keys, type Scene, serveAcademy } from './scene.ts'

const error = {
  name: 'ValueError',
  message: 'upside down',
  stack: 'ValueError: upside down\n at x',
}

interface Held {
  readonly scene: Scene
  readonly id: string
  readonly receipt: string
  report(kind: string, fields?: object, key?: string): Promise<Answer>
  job(): Promise<Answer['body']>
}

async function held(options: Parameters<typeof serveAcademy>[0] = {}): Promise<Held> {
  const scene = await serveAcademy(options)
  const id = await scene.enqueue({ owner: 'alice' })
  const { receipt } = await scene.claim()
  return {
    scene,
    id,
    receipt,
    report: (kind, fields = {}, key = keys.worker) =>
      scene.call(`/jobs/${id}/${kind}`, { method: 'POST', key, body: { receipt, ...fields } }),
    job: async () => (await scene.call(`/jobs/${id}`, { key: keys.admin })).body,
  }
}

describe('the holder of a job', () => {
  test('reports progress, extends its lease, and completes the job', async () => {
    const { report, job } = await held()
    const progress = await report('progress', { progress: 0.5 })
    assert.deepEqual([progress.status, progress.body], [200, { status: 'processing' }])
    assert.equal((await job()).progress, 0.5)
    const extended = await report('extend', { for: '10m' })
    const until = Date.parse(extended.body.lease_expires_at) - Date.now()
    assert.ok(until > 590_000 && until < 610_000, `${until}`)
    const completed = await report('complete', { result: { words: [1, 2] } })
    assert.deepEqual([completed.status, completed.body], [200, { status: 'completed' }])
    const { status, result } = await job()
    assert.deepEqual([status, result], ['completed', { words: [1, 2] }])
  })

  test('reports a failure, and learns when the next attempt is due', async () => {
    const { report, job, scene, id } = await held()
    const { status, body } = await report('fail', { error })
    assert.equal(status, 200)
    assert.equal(body.status, 'pending')
    assert.ok(body.retry_in_ms >= 4_000 && body.retry_in_ms <= 5_000, `${body.retry_in_ms}`)
    assert.equal((await job()).error_message, 'ValueError: upside down')
    const { body: users } = await scene.call(`/jobs/${id}/attempts`, { key: keys.alice })
    assert.equal(users.attempts[0].error_message, 'The attempt could not be completed.')
  })

  test('reports a failure with the stack of its own language', async () => {
    const { report, scene, id } = await held()
    const stack = [
      'Traceback (most recent call last):',
      '  File "/app/worker.py", line 12, in scan',
      '    raise ValueError("upside down")',
      'ValueError: upside down',
    ].join('\n')
    await report('fail', { error: { ...error, stack: `${stack}\n` } })
    const { body } = await scene.call(`/jobs/${id}/attempts`, { key: keys.admin })
    assert.equal(body.attempts[0].failure.stack, stack)
  })

  test('reports a failure for good, or with its own wait', async () => {
    const final = await held()
    assert.deepEqual((await final.report('fail', { error, retry: false })).body, {
      status: 'failed',
    })
    const later = await held()
    const { body } = await later.report('fail', { error, retry: { delay: '90s' } })
    assert.deepEqual(body, { status: 'pending', retry_in_ms: 90_000 })
  })
})

describe('a report', () => {
  const bodies: readonly (readonly [string, object])[] = [
    ['progress', { progress: 0.9 }],
    ['complete', { result: 1 }],
    ['fail', { error }],
    ['extend', { for: '1m' }],
  ]

  test.each(bodies)(
    '%s after the lease gets 409, with the status of the job',
    async (kind, fields) => {
      const { scene, id, receipt, report, job } = await held()
      const released = [{ receipt, outcome: { kind: 'release' } }] as const
      await scene.backend.settle({ queue: basicName, settlements: released })
      await scene.claim()
      const { status, body } = await report(kind, fields)
      assert.deepEqual([status, body.code, body.job_status], [409, 'lease_ended', 'processing'])
      await scene.backend.jobs?.cancel({ id })
      const gone = await report(kind, fields)
      assert.deepEqual([gone.status, gone.body.job_status], [409, 'cancelled'])
      assert.deepEqual([(await job()).progress, (await job()).result], [0, null])
    },
  )

  test.each(bodies)('%s with another receipt gets 400 or 404', async (kind, fields) => {
    const { scene, receipt, report, job } = await held()
    const other = await scene.enqueue()
    const { receipt: foreign } = await scene.claim()
    const mangled = await report(kind, { ...fields, receipt: `${receipt}7` })
    assert.equal(mangled.status, 400)
    assert.deepEqual(mangled.body.errors, [
      { field: 'receipt', expected: 'the receipt of a receive, unchanged' },
    ])
    const none = await report(kind, { ...fields, receipt: undefined })
    assert.deepEqual([none.status, none.body.errors[0].field], [400, 'receipt'])
    const others = await report(kind, { ...fields, receipt: foreign })
    assert.deepEqual([others.status, others.body.code], [404, 'job_not_found'])
    assert.equal((await job()).status, 'processing')
    const { body } = await scene.call(`/jobs/${other}`, { key: keys.admin })
    assert.equal(body.status, 'processing')
  })

  test.each([
    ['progress', {}, 'progress'],
    ['progress', { progress: 1.5 }, 'progress'],
    ['progress', { progress: '50%' }, 'progress'],
    ['complete', { results: 1 }, 'results'],
    ['fail', {}, 'error'],
    ['fail', { error: {} }, 'error.message'],
    ['fail', { error, retry: 5 }, 'retry'],
    ['fail', { error, retry: { delay: '13h' } }, 'retry.delay'],
    ['extend', {}, 'for'],
    ['extend', { for: 'long' }, 'for'],
  ])('%s with %j gets 400 that names the field', async (kind, fields, field) => {
    const { report, job } = await held()
    const { status, body } = await report(kind, fields)
    assert.deepEqual([status, body.code], [400, 'invalid_request'])
    assert.equal(body.errors[0].field, field)
    assert.equal((await job()).status, 'processing')
  })

  const duration = "a duration such as '250ms', '30s', '6m', '12h' or '14d'"

  test.each([
    ['fail', { error, retry: 5 }, 'true, false, or an object with a delay'],
    ['fail', { error, retry: { delay: 30 } }, duration],
    ['fail', { error, retry: { delay: '13h' } }, 'a duration, 0s to 12h'],
    ['extend', { for: 'long' }, duration],
    ['extend', { for: '13h' }, 'a duration, 0s to 12h'],
    ['progress', { progress: 0.5, spent: 5 }, 'an object with the amount spent from each budget'],
  ])('%s with %j is told what to send, in the words of the API', async (kind, fields, expected) => {
    const { report } = await held()
    assert.equal((await report(kind, fields)).body.errors[0].expected, expected)
  })

  test('with a result that is too large gets 413', async () => {
    const { report, job } = await held({ bodyBytesMax: 4 * 2 ** 20 })
    const { status, body } = await report('complete', { result: 'x'.repeat(2 ** 20) })
    assert.deepEqual([status, body.code], [413, 'too_large'])
    assert.equal((await job()).status, 'processing')
  })

  test('that is not JSON gets 400, and another type of body 415', async () => {
    const { scene, id } = await held()
    const path = `/jobs/${id}/complete`
    const broken = await scene.call(path, { method: 'POST', key: keys.worker, body: '{' })
    assert.deepEqual([broken.status, broken.body.code], [400, 'invalid_json'])
    const headers = { 'content-type': 'text/plain' }
    const plain = await scene.call(path, { method: 'POST', key: keys.worker, body: '{}', headers })
    assert.equal(plain.status, 415)
  })
})

test('a server without an app takes reports on jobs of any queue', async () => {
  const folder = await temporaryFolder('reports')
  const server = await serve({ port: 0, data: folder.path })
  const backend = await openSqlite({ file: folder.file('millrace.db') })
  onTestFinished(async () => {
    await backend.close()
    await server.stop()
    await folder.remove()
  })
  await backend.createQueue({ queue: 'free' })
  const jobs = [{ type: 'ANY', payload: '1' }]
  const [{ id } = { id: '' }] = (await backend.jobs?.enqueue({ queue: 'free', jobs })) ?? []
  const [delivery] = await backend.receive({ queue: 'free', max: 1 })
  const body = { receipt: delivery?.receipt, result: [1] }
  const answer = await callApi(server.url, `/jobs/${id}/complete`, { method: 'POST', body })
  assert.deepEqual([answer.status, answer.body], [200, { status: 'completed' }])
  assert.equal((await backend.jobs?.read({ id }))?.result, '[1]')
  const document = await callApi(server.url, '/openapi.json', {})
  assert.ok('/jobs/{id}/complete' in document.body.paths)
  assert.equal((await callApi(server.url, `/jobs/${id}`, {})).body.code, 'no_app')
})
