/** Scenarios in which a worker runs jobs, with real files, mail and rows. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { drawPage } from '../../shared/draw-page.ts'
import { ada, addDocument, type Fixture, openFixture, turn } from './fixture.ts'

async function uploadPage(
  fixture: Fixture,
  words: string,
): Promise<{ document: string; job: string }> {
  const ask = await (await fixture.startApi()).as(ada)
  const { status, body } = await ask('POST', '/documents?title=Scan', await drawPage([words]))
  assert.equal(status, 202)
  return { document: String(body['document_id']), job: String(body['job_id']) }
}

/** The log lines about one job, as `message/attempt`. */
function linesOf({ lines }: Fixture, id: string): readonly string[] {
  return lines
    .filter(({ fields }) => fields['id'] === id)
    .map(({ message, fields }) => `${message}/${fields['attempt']}`)
}

describe('processing', () => {
  test('FEAT-33-02 Worker completes OCR job: pending, processing, completed; duration is logged', async () => {
    const fixture = await openFixture()
    const { document, job: id } = await uploadPage(fixture, 'Invoice 2041 for the mill')
    assert.equal((await fixture.mill.jobs.get(id))?.status, 'pending')
    fixture.startWorker()
    const job = await fixture.mill.jobs.waitFor(id)
    assert.equal(job.status, 'completed')
    assert.ok(job.startedAt !== null && job.finishedAt !== null)
    assert.ok(job.createdAt <= job.startedAt && job.startedAt <= job.finishedAt)
    assert.match(fixture.services.documents.find(document)?.text ?? '', /Invoice 2041 for the mill/)
    assert.deepEqual(linesOf(fixture, id).slice(-2), ['job started/1', 'job completed/1'])
    const completed = fixture.lines.find(
      ({ message, fields }) => message === 'job completed' && fields['id'] === id,
    )
    assert.ok(Number(completed?.fields['duration_ms']) > 0)
  })

  test('FEAT-33-06 Worker retry on transient failure: the waits grow, and the job completes', async () => {
    const fixture = await openFixture({ variables: { JOB_QUEUE_DEFAULT_BACKOFF_MS: '200' } })
    fixture.mailbox.refusal = 'try again later'
    const email = { to: 'ada@example.com', template: 'welcome' } as const
    const { job_id } = await fixture.queue.enqueueEmailJob(email)
    fixture.startWorker()
    await untilRetried(fixture, job_id, 2)
    fixture.mailbox.refusal = undefined
    const job = await fixture.mill.jobs.waitFor(job_id)
    assert.deepEqual([job.status, job.attemptsMade], ['completed', 3])
    const attempts = await fixture.mill.jobs.attempts(job_id)
    assert.deepEqual(
      attempts.map(({ outcome }) => outcome),
      ['retried', 'retried', 'completed'],
    )
    const waits = attempts
      .slice(1)
      .map((one, index) => one.startedAt - (attempts[index]?.endedAt ?? 0))
    // Jitter can shorten a wait by a fifth.
    assert.ok((waits[0] ?? 0) >= 160, `the first wait was ${waits[0]} ms`)
    assert.ok((waits[1] ?? 0) >= 320, `the second wait was ${waits[1]} ms`)
    assert.equal(fixture.mailbox.received.length, 1)
  })

  test('FEAT-33-07 Max retries exhausted: failed, with a safe summary', async () => {
    const fixture = await openFixture()
    fixture.mailbox.refusal = 'mailbox of ada@example.com refused, password=hunter2'
    const email = { to: 'ada@example.com', template: 'welcome' } as const
    const { job_id } = await fixture.queue.enqueueEmailJob(email)
    fixture.startWorker()
    const job = await fixture.mill.jobs.waitFor(job_id)
    assert.deepEqual([job.status, job.attemptsMade, job.maxAttempts], ['failed', 3, 3])
    assert.match(job.error ?? '', /refused/)
    assert.doesNotMatch(job.error ?? '', /ada@example\.com|hunter2|\n/)
    assert.equal((await fixture.mill.queues.dead_letters.statistics()).ready, 1)
    assert.equal(fixture.mailbox.received.length, 0)
  })

  test('FEAT-33-09 Notification queue integration: persisted once', async () => {
    const fixture = await openFixture()
    const { job_id } = await fixture.queue.enqueueNotificationJob({
      user_id: 'ada',
      kind: 'message',
    })
    fixture.startWorker()
    const job = await fixture.mill.jobs.waitFor(job_id)
    assert.deepEqual([job.status, job.result], ['completed', { outcome: 'created' }])
    const kinds = fixture.services.notifications.listOf('ada').map(({ kind }) => kind)
    assert.deepEqual(kinds, ['message'])
  })

  test('FEAT-33-10 Email queue integration: the mail service sends it, and the request does not wait for it', async () => {
    const fixture = await openFixture()
    const { job_id, status } = await fixture.queue.enqueueEmailJob({
      to: 'ada@example.com',
      template: 'document_ready',
    })
    // The request returned before any message reached the mail server.
    assert.deepEqual([status, fixture.mailbox.received.length], ['pending', 0])
    fixture.startWorker()
    assert.equal((await fixture.mill.jobs.waitFor(job_id)).status, 'completed')
    assert.deepEqual(fixture.mailbox.received[0]?.to, ['ada@example.com'])
    assert.match(fixture.mailbox.received[0].source, /Subject: Your document is ready/)
  })

  test('FEAT-33-14 Queue-specific concurrency: never more OCR jobs at once than configured', async () => {
    const count = 6
    const waiting: (() => void)[] = []
    let most = 0
    const recognition = {
      async read() {
        await new Promise<void>((resolve) => {
          most = Math.max(most, waiting.push(resolve))
        })
        return { text: 'read', confidence: 1 }
      },
    }
    // Heavy queues get half of five slots, rounded down.
    const variables = { JOB_QUEUE_WORKER_CONCURRENCY: '5' }
    const fixture = await openFixture({ variables, replace: { recognition } })
    const jobs = await Promise.all(
      Array.from({ length: count }, async (_, index) =>
        fixture.queue.enqueueOcrJob({ document_id: await addDocument(fixture, `page ${index}`) }),
      ),
    )
    fixture.startWorker()
    for (let ended = 0; ended < count; ended += 1) {
      // Wait until both slots are full again before the next job continues.
      while (waiting.length < Math.min(2, count - ended)) await turn()
      waiting.shift()?.()
    }
    for (const { job_id } of jobs) {
      assert.equal((await fixture.mill.jobs.waitFor(job_id)).status, 'completed')
    }
    assert.equal(most, 2)
  })

  test('FEAT-33-15 Logging coverage: queue, job ID, status, attempts and duration of a success and a failure', async () => {
    const fixture = await openFixture({ variables: { JOB_QUEUE_DEFAULT_ATTEMPTS: '2' } })
    const good = await fixture.queue.enqueueNotificationJob({ user_id: 'ada', kind: 'message' })
    fixture.mailbox.refusal = 'no'
    const bad = await fixture.queue.enqueueEmailJob({ to: 'ada@example.com', template: 'welcome' })
    const worker = fixture.startWorker()
    for (const { job_id } of [good, bad]) await fixture.mill.jobs.waitFor(job_id)
    await worker.stop()
    assert.deepEqual(linesOf(fixture, good.job_id), [
      'job enqueued/undefined',
      'job started/1',
      'job completed/1',
    ])
    assert.deepEqual(linesOf(fixture, bad.job_id), [
      'job enqueued/undefined',
      'job started/1',
      'job retried/1',
      'job started/2',
      'job failed/2',
    ])
    const last = fixture.lines.find(({ message }) => message === 'job failed')?.fields ?? {}
    assert.deepEqual(
      [last['queue'], last['type'], last['status'], last['attempt'], last['max_attempts']],
      ['email_queue', 'send_email', 'failed', 2, 2],
    )
    assert.ok(Number(last['duration_ms']) >= 0)
    assert.match(String(last['error']), /no/)
    assert.doesNotMatch(JSON.stringify(fixture.lines), /ada@example\.com/)
  })
})

/** Waits until this many attempts have failed. */
async function untilRetried({ mill }: Fixture, id: string, times: number): Promise<void> {
  const count = async (): Promise<number> =>
    (await mill.jobs.attempts(id)).filter(({ outcome }) => outcome === 'retried').length
  while ((await count()) < times) await turn()
}
