/** The scenarios in which a worker does the work, with real files, mail and rows. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { drawPage } from '../../shared/draw-page.ts'
import { ada, addDocument, openScene, type Scene, turn } from './scene.ts'

async function uploadPage(scene: Scene, words: string): Promise<{ document: string; job: string }> {
  const ask = await (await scene.startApi()).as(ada)
  const { status, body } = await ask('POST', '/documents?title=Scan', await drawPage([words]))
  assert.equal(status, 202)
  return { document: String(body['document_id']), job: String(body['job_id']) }
}

/** The log lines about one job, as `message/attempt`. */
function linesOf({ lines }: Scene, id: string): readonly string[] {
  return lines
    .filter(({ fields }) => fields['id'] === id)
    .map(({ message, fields }) => `${message}/${fields['attempt']}`)
}

describe('processing', () => {
  test('FEAT-33-02 Worker completes OCR job: pending, processing, completed; duration is logged', async () => {
    const scene = await openScene()
    const { document, job: id } = await uploadPage(scene, 'Invoice 2041 for the mill')
    assert.equal((await scene.mill.jobs.get(id))?.status, 'pending')
    scene.startWorker()
    const job = await scene.mill.jobs.waitFor(id)
    assert.equal(job.status, 'completed')
    assert.ok(job.startedAt !== null && job.finishedAt !== null)
    assert.ok(job.createdAt <= job.startedAt && job.startedAt <= job.finishedAt)
    assert.match(scene.services.documents.find(document)?.text ?? '', /Invoice 2041 for the mill/)
    assert.deepEqual(linesOf(scene, id).slice(-2), ['job started/1', 'job completed/1'])
    const completed = scene.lines.find(
      ({ message, fields }) => message === 'job completed' && fields['id'] === id,
    )
    assert.ok(Number(completed?.fields['duration_ms']) > 0)
  })

  test('FEAT-33-06 Worker retry on transient failure: it waits longer each time, and completes', async () => {
    const scene = await openScene({ variables: { JOB_QUEUE_DEFAULT_BACKOFF_MS: '200' } })
    scene.mailbox.trouble = 'try again later'
    const email = { to: 'ada@example.com', template: 'welcome' } as const
    const { job_id } = await scene.queue.enqueueEmailJob(email)
    scene.startWorker()
    await untilRetried(scene, job_id, 2)
    scene.mailbox.trouble = undefined
    const job = await scene.mill.jobs.waitFor(job_id)
    assert.deepEqual([job.status, job.attemptsMade], ['completed', 3])
    const attempts = await scene.mill.jobs.attempts(job_id)
    assert.deepEqual(
      attempts.map(({ outcome }) => outcome),
      ['retried', 'retried', 'completed'],
    )
    const waits = attempts
      .slice(1)
      .map((one, index) => one.startedAt - (attempts[index]?.endedAt ?? 0))
    // A fifth of a wait is left to chance.
    assert.ok((waits[0] ?? 0) >= 160, `the first wait was ${waits[0]} ms`)
    assert.ok((waits[1] ?? 0) >= 320, `the second wait was ${waits[1]} ms`)
    assert.equal(scene.mailbox.received.length, 1)
  })

  test('FEAT-33-07 Max retries exhausted: failed, with a safe summary', async () => {
    const scene = await openScene()
    scene.mailbox.trouble = 'mailbox of ada@example.com refused, password=hunter2'
    const email = { to: 'ada@example.com', template: 'welcome' } as const
    const { job_id } = await scene.queue.enqueueEmailJob(email)
    scene.startWorker()
    const job = await scene.mill.jobs.waitFor(job_id)
    assert.deepEqual([job.status, job.attemptsMade, job.maxAttempts], ['failed', 3, 3])
    assert.match(job.error ?? '', /refused/)
    assert.doesNotMatch(job.error ?? '', /ada@example\.com|hunter2|\n/)
    assert.equal((await scene.mill.queues.dead_letters.statistics()).ready, 1)
    assert.equal(scene.mailbox.received.length, 0)
  })

  test('FEAT-33-09 Notification queue integration: persisted once', async () => {
    const scene = await openScene()
    const { job_id } = await scene.queue.enqueueNotificationJob({ user_id: 'ada', kind: 'message' })
    scene.startWorker()
    const job = await scene.mill.jobs.waitFor(job_id)
    assert.deepEqual([job.status, job.result], ['completed', { outcome: 'created' }])
    const kinds = scene.services.notifications.listOf('ada').map(({ kind }) => kind)
    assert.deepEqual(kinds, ['message'])
  })

  test('FEAT-33-10 Email queue integration: sent by the mail service, and the request did not wait for it', async () => {
    const scene = await openScene()
    const { job_id, status } = await scene.queue.enqueueEmailJob({
      to: 'ada@example.com',
      template: 'document_ready',
    })
    // The request is answered, and nobody has spoken to the mail server yet.
    assert.deepEqual([status, scene.mailbox.received.length], ['pending', 0])
    scene.startWorker()
    assert.equal((await scene.mill.jobs.waitFor(job_id)).status, 'completed')
    assert.deepEqual(scene.mailbox.received[0]?.to, ['ada@example.com'])
    assert.match(scene.mailbox.received[0].source, /Subject: Your document is ready/)
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
    // Half of five, rounded down, for the heavy queues.
    const variables = { JOB_QUEUE_WORKER_CONCURRENCY: '5' }
    const scene = await openScene({ variables, replace: { recognition } })
    const jobs = await Promise.all(
      Array.from({ length: count }, async (_, index) =>
        scene.queue.enqueueOcrJob({ document_id: await addDocument(scene, `page ${index}`) }),
      ),
    )
    scene.startWorker()
    for (let ended = 0; ended < count; ended += 1) {
      // Both slots fill up again before the next one is let through.
      while (waiting.length < Math.min(2, count - ended)) await turn()
      waiting.shift()?.()
    }
    for (const { job_id } of jobs) {
      assert.equal((await scene.mill.jobs.waitFor(job_id)).status, 'completed')
    }
    assert.equal(most, 2)
  })

  test('FEAT-33-15 Logging coverage: queue, job ID, status, attempts and duration of a success and a failure', async () => {
    const scene = await openScene({ variables: { JOB_QUEUE_DEFAULT_ATTEMPTS: '2' } })
    const good = await scene.queue.enqueueNotificationJob({ user_id: 'ada', kind: 'message' })
    scene.mailbox.trouble = 'no'
    const bad = await scene.queue.enqueueEmailJob({ to: 'ada@example.com', template: 'welcome' })
    const worker = scene.startWorker()
    for (const { job_id } of [good, bad]) await scene.mill.jobs.waitFor(job_id)
    await worker.stop()
    assert.deepEqual(linesOf(scene, good.job_id), [
      'job enqueued/undefined',
      'job started/1',
      'job completed/1',
    ])
    assert.deepEqual(linesOf(scene, bad.job_id), [
      'job enqueued/undefined',
      'job started/1',
      'job retried/1',
      'job started/2',
      'job failed/2',
    ])
    const last = scene.lines.find(({ message }) => message === 'job failed')?.fields ?? {}
    assert.deepEqual(
      [last['queue'], last['type'], last['status'], last['attempt'], last['max_attempts']],
      ['email_queue', 'send_email', 'failed', 2, 2],
    )
    assert.ok(Number(last['duration_ms']) >= 0)
    assert.match(String(last['error']), /no/)
    assert.doesNotMatch(JSON.stringify(scene.lines), /ada@example\.com/)
  })
})

/** Waits until so many attempts have failed. */
async function untilRetried({ mill }: Scene, id: string, times: number): Promise<void> {
  const count = async (): Promise<number> =>
    (await mill.jobs.attempts(id)).filter(({ outcome }) => outcome === 'retried').length
  while ((await count()) < times) await turn()
}
