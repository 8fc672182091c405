/** Scenarios that enqueue jobs over HTTP, on a real store. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { brokenStore } from './breakable-store.ts'
import { ada, admin, bob, type Fixture, openFixture, secretMark, staff } from './fixture.ts'

/** The number of jobs in all queues, in any state. */
async function countJobs({ mill }: Fixture): Promise<number> {
  const queues = ['ocr_queue', 'email_queue', 'notification_queue', 'indexing_queue'] as const
  const pages = await Promise.all(queues.map((name) => mill.jobs.list(name, { limit: 100 })))
  return pages.reduce((sum, { items }) => sum + items.length, 0)
}

describe('enqueueing', () => {
  test('FEAT-33-01 Enqueue OCR job happy path: 202 with job_id, the row is pending', async () => {
    const fixture = await openFixture()
    const ask = await (await fixture.startApi()).as(staff)
    const key = { 'idempotency-key': 'ocr:doc-1' }
    const request = { payload: { document_id: 'doc-1' } }
    const { status, body } = await ask('POST', '/jobs/ocr_queue', request, key)
    assert.equal(status, 202)
    assert.deepEqual(Object.keys(body), ['job_id', 'status'])
    assert.equal(body['status'], 'pending')
    const job = await fixture.mill.jobs.get(String(body['job_id']))
    assert.deepEqual(
      [job?.queue, job?.type, job?.status, job?.attemptsMade, job?.maxAttempts],
      ['ocr_queue', 'ocr_document', 'pending', 0, 3],
    )
    assert.equal(job?.idempotencyKey, 'ocr:doc-1')
    assert.equal((await fixture.mill.queues.ocr_queue.statistics()).ready, 1)
  })

  test('FEAT-33-03 Invalid queue name rejected: 400, and no job is created', async () => {
    const fixture = await openFixture()
    const ask = await (await fixture.startApi()).as(staff)
    const { status } = await ask('POST', '/jobs/billing_queue', { payload: { document_id: 'd' } })
    assert.equal(status, 400)
    assert.equal(await countJobs(fixture), 0)
  })

  test('FEAT-33-04 Invalid payload rejected: 400, and no job is created', async () => {
    const fixture = await openFixture()
    const ask = await (await fixture.startApi()).as(staff)
    for (const payload of [{}, { document_id: 7 }, { document_id: 'd', text: 'private words' }]) {
      const answer = await ask('POST', '/jobs/ocr_queue', { payload })
      assert.equal(answer.status, 400)
      assert.ok(!answer.text.includes('private words'))
    }
    assert.equal(await countJobs(fixture), 0)
  })

  test('FEAT-33-05 Store unavailable on enqueue (Redis in the document): a retryable failure, logged without secrets', async () => {
    const fixture = await openFixture({ busyTimeoutMs: 200 })
    const ask = await (await fixture.startApi()).as(staff)
    const request = { payload: { document_id: 'doc-1' } }
    const repair = fixture.store.break()
    const refused = await ask('POST', '/jobs/ocr_queue', request)
    assert.equal(refused.status, 503)
    assert.ok(Number(refused.headers.get('retry-after')) > 0)
    assert.doesNotMatch(refused.text, /sqlite|redis|database|queue|worker|\bat \S+:\d+/i)
    const failures = fixture.lines.filter(({ level }) => level === 'error')
    assert.ok(failures.some(({ fields }) => brokenStore.test(String(fields['code']))))
    assert.ok(!JSON.stringify(fixture.lines).includes(secretMark))

    await repair()
    assert.equal((await ask('POST', '/jobs/ocr_queue', request)).status, 202)
    assert.equal(await countJobs(fixture), 1)
  })

  test('FEAT-33-08 Idempotency prevents duplicate jobs: the second request gets the first job', async () => {
    const fixture = await openFixture()
    const ask = await (await fixture.startApi()).as(staff)
    const key = { 'idempotency-key': 'welcome-ada' }
    const email = { payload: { to: 'ada@example.com', template: 'welcome' } }
    const first = await ask('POST', '/jobs/email_queue', email, key)
    const second = await ask('POST', '/jobs/email_queue', email, key)
    assert.deepEqual([first.status, second.status], [202, 202])
    assert.deepEqual(second.body, first.body)
    assert.equal(await countJobs(fixture), 1)

    fixture.startWorker()
    await fixture.mill.jobs.waitFor(String(first.body['job_id']))
    const third = await ask('POST', '/jobs/email_queue', email, key)
    assert.deepEqual(third.body, { job_id: first.body['job_id'], status: 'completed' })
    assert.equal(fixture.mailbox.received.length, 1)

    const other = { payload: { to: 'bob@example.com', template: 'welcome' } }
    assert.equal((await ask('POST', '/jobs/email_queue', other, key)).status, 422)
  })

  test('FEAT-33-11 Job status lookup: status and timestamps, without the payload', async () => {
    const fixture = await openFixture()
    const api = await fixture.startApi()
    const { job_id } = await fixture.queue.enqueueEmailJob(
      { to: 'ada@example.com', template: 'welcome' },
      { owner: 'ada' },
    )
    fixture.startWorker()
    await fixture.mill.jobs.waitFor(job_id)
    const { status, body, text } = await (await api.as(ada))('GET', `/jobs/${job_id}`)
    assert.equal(status, 200)
    assert.equal(body['status'], 'completed')
    for (const field of ['created_at', 'started_at', 'finished_at']) {
      assert.ok(!Number.isNaN(Date.parse(String(body[field]))), field)
    }
    assert.doesNotMatch(text, /ada@example\.com|welcome|payload|email_queue/)
    const view = await fixture.queue.getJobStatus(job_id)
    assert.deepEqual([view?.status, view?.attempts_made], ['completed', 1])
    assert.ok(!JSON.stringify(view).includes('ada@example.com'))

    // Staff see the payload, with personal data masked.
    const whole = await (await api.as(admin))('GET', `/jobs/${job_id}`)
    assert.match(whole.text, /"template":"welcome"/)
    assert.doesNotMatch(whole.text, /ada@example\.com/)
  })

  test('FEAT-33-12 Unauthorized status lookup: the job of another user is not found', async () => {
    const fixture = await openFixture()
    const api = await fixture.startApi()
    const { job_id } = await fixture.queue.enqueueOcrJob({ document_id: 'd' }, { owner: 'ada' })
    const asBob = await api.as(bob)
    const foreign = await asBob('GET', `/jobs/${job_id}`)
    const missing = await asBob('GET', '/jobs/00000000-0000-4000-8000-000000000000')
    assert.deepEqual([foreign.status, foreign.text], [404, missing.text])
    assert.equal((await (await api.as(ada))('GET', `/jobs/${job_id}`)).status, 200)
    assert.equal((await fetch(`${api.url}/jobs/${job_id}`)).status, 401)
    // Users may read jobs; only staff and the system may enqueue them.
    assert.equal((await asBob('POST', '/jobs/ocr_queue', { payload: {} })).status, 403)
  })
})
