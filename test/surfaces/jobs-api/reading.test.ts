import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { z } from 'zod'
import type { Outcome } from '../../../src/backends/backend.ts'
import { defineApp, jobs, open } from '../../../src/index.ts'
import { type Answer, basicName, keys, type Scene, serveAcademy } from './scene.ts'

const forUsers = [
  'attempts_made',
  'created_at',
  'error_message',
  'expires_at',
  'finished_at',
  'id',
  'job_type',
  'max_attempts',
  'progress',
  'result',
  'retry_of',
  'run_at',
  'started_at',
  'status',
  'updated_at',
]
const inside = [
  'backend_id',
  'idempotency_key',
  'spent',
  'owner',
  'queue_name',
  'tags',
  'tenant',
  'tier',
  'trace_id',
]
const summary = 'OCR engine at 10.0.0.7 refused: bad scan'

async function failFor(scene: Scene, owner: string): Promise<string> {
  const id = await scene.enqueue({ owner, attempts: 2 })
  const outcomes: readonly Outcome[] = [
    { kind: 'retry', delayMs: 0, error: summary },
    { kind: 'deadLetter', reason: summary },
  ]
  for (const outcome of outcomes) await scene.settle(await scene.claim(), outcome)
  return id
}

describe('a job over HTTP', () => {
  test('shows users how it fares, and nothing of the inside', async () => {
    const scene = await serveAcademy()
    const id = await scene.enqueue({ owner: 'alice', tags: ['hidden'], tenant: 't' })
    await scene.settle(await scene.claim(), { kind: 'acknowledge', result: '{"pages":3}' })
    const { body } = await scene.call(`/jobs/${id}`, { key: keys.alice })
    assert.deepEqual(Object.keys(body).sort(), forUsers)
    assert.deepEqual(body.result, { pages: 3 })
    assert.equal(body.status, 'completed')
    assert.equal(body.progress, 1)
    for (const at of ['created_at', 'started_at', 'finished_at', 'updated_at']) {
      assert.equal(new Date(body[at]).toISOString(), body[at])
    }
  })

  test('shows a service more, and an admin the payload without what is secret or personal', async () => {
    const scene = await serveAcademy()
    const users = [
      { token: 'tok-1', name: 'Alice' },
      { token: 'tok-2', name: 'Bob' },
    ]
    const payload = { email: 'alice@example.org', users }
    const id = await scene.enqueue({ type: 'LOGIN', payload, owner: 'billing' })
    const service = await scene.call(`/jobs/${id}`, { key: keys.internal })
    assert.deepEqual(Object.keys(service.body).sort(), [...forUsers, ...inside].sort())
    assert.equal(service.body.queue_name, basicName)
    const admin = await scene.call(`/jobs/${id}`, { key: keys.admin })
    assert.deepEqual(admin.body.payload, {
      email: '[hidden]',
      users: [
        { token: '[hidden]', name: 'Alice' },
        { token: '[hidden]', name: 'Bob' },
      ],
    })
    const { items } = await (scene.backend.jobs?.list({ queue: basicName, limit: 1 }) ??
      assert.fail())
    assert.deepEqual(JSON.parse(items[0]?.payload ?? ''), payload)
  })

  test('tells users of a failure in neutral words, and others the safe summary', async () => {
    const scene = await serveAcademy()
    const id = await failFor(scene, 'alice')
    const seen = async (key: string): Promise<readonly unknown[]> => {
      const { body: job } = await scene.call(`/jobs/${id}`, { key })
      const { body } = await scene.call(`/jobs/${id}/attempts`, { key })
      const errors = body.attempts.map((one: { error_message: string }) => one.error_message)
      return [job.status, job.error_message, ...errors]
    }
    const neutral = 'The attempt could not be completed.'
    assert.deepEqual(await seen(keys.alice), [
      'failed',
      'The job could not be completed.',
      neutral,
      neutral,
    ])
    assert.deepEqual(await seen(keys.admin), ['failed', summary, summary, summary])
  })

  test('shows stacks and log lines to admins and services, never to users', async () => {
    const scene = await serveAcademy()
    const ids = { alice: await scene.enqueue({ owner: 'alice' }), billing: '' }
    ids.billing = await scene.enqueue({ owner: 'billing' })
    const failure = { name: 'Error', message: 'bad scan', stack: 'at ocr (a.js:1:1)', causes: [] }
    const outcome = { kind: 'deadLetter', reason: 'bad scan', failure } as const
    const fields = { page: 3 }
    const logs = [{ at: 1_000, level: 'info', message: 'scanning', fields } as const]
    for (let job = 0; job < 2; job += 1) {
      const { receipt } = await scene.claim()
      await scene.backend.settle({ queue: basicName, settlements: [{ receipt, outcome, logs }] })
    }
    for (const [key, id] of [
      [keys.admin, ids.alice],
      [keys.internal, ids.billing],
    ] as const) {
      const { body } = await scene.call(`/jobs/${id}/attempts`, { key })
      assert.deepEqual(body.attempts[0].failure, failure)
      const { body: logged } = await scene.call(`/jobs/${id}/logs`, { key })
      const at = '1970-01-01T00:00:01.000Z'
      assert.deepEqual(logged, {
        logs: [{ attempt: 1, at, level: 'info', message: 'scanning', fields }],
      })
    }
    const { text } = await scene.call(`/jobs/${ids.alice}/attempts`, { key: keys.alice })
    assert.doesNotMatch(text, /bad scan|a\.js|failure/)
    const refused = await scene.call(`/jobs/${ids.alice}/logs`, { key: keys.alice })
    assert.deepEqual([refused.status, refused.body.code], [403, 'forbidden'])
    assert.doesNotMatch(refused.text, /scanning/)
  })

  test('lists its attempts, the running one as well', async () => {
    const scene = await serveAcademy()
    const id = await scene.enqueue()
    await scene.settle(await scene.claim(), { kind: 'retry', delayMs: 0, error: 'once' })
    await scene.claim()
    const { body } = await scene.call(`/jobs/${id}/attempts`, { key: keys.admin })
    const [first, second] = body.attempts
    assert.deepEqual([first.attempt, first.outcome, first.error_message], [1, 'retried', 'once'])
    assert.deepEqual([second.attempt, second.outcome, second.ended_at], [2, 'running', null])
  })

  test('is cancelled once, and tried again as a new job', async () => {
    const scene = await serveAcademy()
    const id = await scene.enqueue({ owner: 'alice' })
    const act = (action: string): Promise<Answer> =>
      scene.call(`/jobs/${id}/${action}`, { method: 'POST', key: keys.alice })
    const early = await act('retry')
    assert.deepEqual([early.status, early.body.code], [409, 'job_not_finished'])
    const cancelled = await act('cancel')
    assert.deepEqual([cancelled.status, cancelled.body.status], [200, 'cancelled'])
    const again = await act('cancel')
    assert.deepEqual([again.status, again.body.code], [409, 'job_finished'])
    const retried = await act('retry')
    assert.equal(retried.status, 202)
    assert.equal(retried.headers.get('location'), `/jobs/${retried.body.job_id}`)
    const { body } = await scene.call(`/jobs/${retried.body.job_id}`, { key: keys.alice })
    assert.deepEqual([body.status, body.retry_of], ['pending', id])
  })

  test('is moved to another time while it waits', async () => {
    const scene = await serveAcademy()
    const id = await scene.enqueue({ owner: 'alice' })
    const act = (action: string, body?: object): Promise<Answer> =>
      scene.call(`/jobs/${id}/${action}`, {
        method: 'POST',
        key: keys.alice,
        ...(body && { body }),
      })
    const run_at = new Date(Date.now() + 86_400_000).toISOString()
    const later = await act('reschedule', { run_at })
    assert.deepEqual([later.status, later.body.status, later.body.run_at], [200, 'pending', run_at])
    const delayed = await act('reschedule', { delay: '30d' })
    assert.ok(delayed.body.run_at > run_at)
    const promoted = await act('promote')
    assert.deepEqual([promoted.status, promoted.body.run_at], [200, null])
    for (const body of [{}, { run_at: 'soon' }, { run_at: '1999-01-01' }, { delay: '4000d' }]) {
      const refused = await act('reschedule', body)
      assert.deepEqual([refused.status, refused.body.code], [400, 'invalid_request'])
      assert.match(refused.body.errors[0].field, /^(run_at|delay)$/)
    }
    const { body: none } = await act('reschedule', {})
    assert.deepEqual(none.errors, [{ field: 'run_at', expected: 'run_at or delay' }])
    await scene.claim()
    for (const [action, body] of [['promote'], ['reschedule', { delay: '1m' }]] as const) {
      const running = await act(action, body)
      assert.deepEqual([running.status, running.body.code], [409, 'job_running'])
    }
    await act('cancel')
    const finished = await act('promote')
    assert.deepEqual([finished.status, finished.body.code], [409, 'job_finished'])
  })

  test('of another app in the same store does not exist here', async () => {
    const scene = await serveAcademy()
    const other = defineApp('other', { queues: { todo: jobs({ types: { DO: z.unknown() } }) } })
    await using mill = await open(other, { store: scene.server.place })
    const { id } = await mill.jobs.enqueue('todo', 'DO', {}, { owner: 'alice' })
    for (const key of [keys.admin, keys.alice]) {
      assert.equal((await scene.call(`/jobs/${id}`, { key })).status, 404)
    }
  })
})

describe('the list of jobs', () => {
  test('goes through all queues page by page, newest first, without gaps or repeats', async () => {
    const scene = await serveAcademy()
    const ids: string[] = []
    for (let count = 0; count < 25; count += 1) {
      const queue = count % 3 === 0 ? 'mail' : 'basic'
      const body =
        queue === 'mail'
          ? { payload: { to: 'x' }, owner: 'alice' }
          : { type: 'OCR', payload: { examId: 'e' }, owner: 'alice' }
      const call = { method: 'POST', key: keys.admin, body }
      ids.push((await scene.call(`/jobs/${queue}`, call)).body.job_id)
    }
    const found: string[] = []
    let next: string | null = ''
    while (next !== null) {
      const after: string = next === '' ? '' : `&after=${next}`
      const { body } = await scene.call(`/jobs?limit=4${after}`, { key: keys.alice })
      assert.ok(body.jobs.length <= 4)
      found.push(...body.jobs.map((job: { id: string }) => job.id))
      next = body.next
    }
    assert.deepEqual(found, ids.reverse())
  })

  test('holds neither payloads nor results, and for users nothing of the inside', async () => {
    const scene = await serveAcademy()
    await scene.enqueue({ owner: 'alice' })
    const admin = await scene.call('/jobs', { key: keys.admin })
    assert.ok(!('payload' in admin.body.jobs[0]) && !('result' in admin.body.jobs[0]))
    const { body } = await scene.call('/jobs', { key: keys.alice })
    const withoutResult = forUsers.filter((field) => field !== 'result')
    assert.deepEqual(Object.keys(body.jobs[0]).sort(), withoutResult)
  })

  test('shows everybody but admins only their own, whatever they ask for', async () => {
    const scene = await serveAcademy()
    await scene.enqueue({ owner: 'alice' })
    await scene.enqueue({ owner: 'bob' })
    await scene.enqueue()
    const count = async (query: string, key: string): Promise<number> =>
      (await scene.call(`/jobs?${query}`, { key })).body.jobs.length
    assert.equal(await count('', keys.admin), 3)
    assert.equal(await count('owner=bob', keys.admin), 1)
    assert.equal(await count('', keys.alice), 1)
    assert.equal(await count('owner=alice', keys.alice), 1)
    assert.equal(await count('owner=bob', keys.alice), 0)
    assert.equal(await count('queue=nope', keys.alice), 0)
    assert.equal(await count('', keys.internal), 0)
  })

  test('is filtered by queue, status and type', async () => {
    const scene = await serveAcademy()
    const cancelled = await scene.enqueue()
    await scene.call(`/jobs/${cancelled}/cancel`, { method: 'POST', key: keys.admin })
    await scene.enqueue({ type: 'ANY', payload: 1 })
    const ids = async (query: string): Promise<number> =>
      (await scene.call(`/jobs?${query}`, { key: keys.admin })).body.jobs.length
    assert.equal(await ids('queue=basic'), 2)
    assert.equal(await ids(`queue=${basicName}&status=cancelled`), 1)
    assert.equal(await ids('queue=mail'), 0)
    assert.equal(await ids('type=ANY'), 1)
    assert.equal(await ids('status=&type=OCR'), 1)
    const unknown = await scene.call('/jobs?queue=nope', { key: keys.admin })
    assert.deepEqual([unknown.status, unknown.body.code], [400, 'unknown_queue'])
  })

  test('is complete for somebody who owns little among many jobs', async () => {
    const scene = await serveAcademy()
    const first = await scene.enqueue({ owner: 'alice' })
    const job = { type: 'OCR', payload: '{}', maxAttempts: 1, owner: 'bob' }
    const jobs = Array.from({ length: 1_000 }, () => job)
    for (let round = 0; round < 55; round += 1) {
      await scene.backend.jobs?.enqueue({ queue: basicName, jobs })
    }
    const last = await scene.enqueue({ owner: 'alice' })
    const found: string[] = []
    let after = ''
    do {
      const { body } = await scene.call(`/jobs?after=${after}`, { key: keys.alice })
      found.push(...body.jobs.map(({ id }: { id: string }) => id))
      after = body.next ?? ''
    } while (after !== '')
    assert.deepEqual(found, [last, first])
  })
})
