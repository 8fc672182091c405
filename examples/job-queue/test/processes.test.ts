/** Tests that need real processes: two workers that share the jobs, and workers that crash. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { promisify } from 'node:util'
import { describe, onTestFinished, test } from 'vitest'
import { Program } from '../../shared/program.ts'
import { type Fixture, openFixture, turn } from './fixture.ts'

const email = { to: 'ada@example.com', template: 'welcome' } as const
const shortLease = { JOB_QUEUE_LEASE_MS: '1000' }

async function startWorkerProcess({ variables }: Fixture): Promise<Program> {
  const worker = new Program({ command: [join(import.meta.dirname, '../worker.ts')], variables })
  onTestFinished(async () => {
    await worker.stop('SIGKILL')
  })
  await worker.waitForLine(/^worker ready$/)
  return worker
}

/** The ids of the jobs that a process has logged as completed. */
function completedBy(worker: Program): readonly string[] {
  return logOf(worker)
    .filter(({ msg }) => msg === 'job completed')
    .map(({ id }) => String(id))
}

function logOf({ output }: Program): readonly Record<string, unknown>[] {
  const lines = output.split('\n').filter((line) => line.startsWith('{'))
  return lines.map((line) => JSON.parse(line))
}

/** Pauses a process, like a machine that is suspended, and waits until it has stopped. */
async function suspend(program: Program): Promise<void> {
  program.signal('SIGSTOP')
  const run = promisify(execFile)
  const ps = ['-o', 'state=', '-p', String(program.pid)]
  // `ps` prints T for a stopped process.
  while (!(await run('ps', ps)).stdout.startsWith('T'));
}

/** Blocks every delivery until `count` of them wait at the same time; then accepts all. */
function acceptOnceWaiting(count: number): () => Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  let waiting = 0
  return () => {
    waiting += 1
    if (waiting === count) resolve()
    return promise
  }
}

/** Blocks all further deliveries. Resolves when the first one waits. */
function blockDeliveries({ mailbox }: Fixture): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  mailbox.beforeAccept = () => {
    resolve()
    return new Promise(() => undefined)
  }
  return promise
}

async function outcomesOf({ mill }: Fixture, id: string): Promise<readonly string[]> {
  return (await mill.jobs.attempts(id)).map(({ outcome }) => outcome)
}

describe('two worker processes', () => {
  test('FEAT-33-13 Concurrent workers: jobs are shared, and every effect happens once', async () => {
    const fixture = await openFixture({ variables: { JOB_QUEUE_WORKER_CONCURRENCY: '2' } })
    // One worker sends two messages at a time, so four are sent only if both workers are running.
    fixture.mailbox.beforeAccept = acceptOnceWaiting(4)
    const workers = await Promise.all([startWorkerProcess(fixture), startWorkerProcess(fixture)])
    const mails = await Promise.all(
      Array.from({ length: 12 }, () => fixture.queue.enqueueEmailJob(email)),
    )
    const notes = await Promise.all(
      Array.from({ length: 40 }, () =>
        fixture.queue.enqueueNotificationJob({ user_id: 'ada', kind: 'message' }),
      ),
    )
    for (const { job_id } of [...mails, ...notes]) {
      const job = await fixture.mill.jobs.waitFor(job_id)
      assert.deepEqual([job.status, job.attemptsMade], ['completed', 1])
    }
    assert.equal(fixture.mailbox.received.length, 12)
    const ids = new Set(
      fixture.mailbox.received.map(({ source }) => /^Message-ID: .*$/m.exec(source)?.[0]),
    )
    assert.equal(ids.size, 12)
    assert.equal(fixture.services.notifications.listOf('ada').length, 40)
    const jobs = new Set(mails.map(({ job_id }) => job_id))
    for (const worker of workers) assert.ok(completedBy(worker).some((id) => jobs.has(id)))
  })

  test('Edge case: worker crash mid-job: another worker retries the job', async () => {
    const fixture = await openFixture({ variables: shortLease })
    const firstWaits = blockDeliveries(fixture)
    const { job_id } = await fixture.queue.enqueueEmailJob(email)
    const first = await startWorkerProcess(fixture)
    await firstWaits
    assert.equal((await fixture.mill.jobs.get(job_id))?.status, 'processing')
    await first.stop('SIGKILL')
    fixture.mailbox.beforeAccept = async () => undefined
    await startWorkerProcess(fixture)
    const job = await fixture.mill.jobs.waitFor(job_id)
    assert.deepEqual([job.status, job.attemptsMade], ['completed', 2])
    assert.deepEqual(await outcomesOf(fixture, job_id), ['lapsed', 'completed'])
    assert.equal(fixture.mailbox.received.length, 1)
  })

  test('Edge case: worker crash mid-job: a crash in the last attempt ends the job as failed', async () => {
    const variables = { ...shortLease, JOB_QUEUE_DEFAULT_ATTEMPTS: '1' }
    const fixture = await openFixture({ variables })
    const firstWaits = blockDeliveries(fixture)
    const { job_id } = await fixture.queue.enqueueEmailJob(email)
    const worker = await startWorkerProcess(fixture)
    await firstWaits
    await worker.stop('SIGKILL')
    const job = await fixture.mill.jobs.waitFor(job_id)
    assert.deepEqual([job.status, job.attemptsMade], ['failed', 1])
  })

  test('Edge case: multiple workers: a worker that resumes after its lease ended changes nothing, and nothing is done twice', async () => {
    const fixture = await openFixture({ variables: shortLease })
    const { job_id } = await fixture.queue.enqueueEmailJob(email)
    let repair: (() => Promise<void>) | undefined
    fixture.mailbox.beforeAccept = async () => {
      // From now on the worker can send its message, but cannot settle its job.
      repair ??= fixture.store.break()
    }
    const late = await startWorkerProcess(fixture)
    await fixture.mailbox.count(1)
    const { database, wasSent } = sentMail(fixture, job_id)
    using _ = database
    while (!wasSent()) await turn()
    await suspend(late)
    await repair?.()
    fixture.mailbox.beforeAccept = async () => undefined

    await startWorkerProcess(fixture)
    const job = await fixture.mill.jobs.waitFor(job_id)
    assert.deepEqual([job.status, job.result], ['completed', { sent: false }])
    // A lease of a second may end once more on a slow machine.
    assert.ok(job.attemptsMade >= 2)
    late.signal('SIGCONT')
    while (!logOf(late).some(({ msg }) => msg === 'job lost')) await turn()
    assert.equal((await fixture.mill.jobs.get(job_id))?.attemptsMade, job.attemptsMade)
    assert.equal(fixture.mailbox.received.length, 1)
    assert.equal(await late.stop(), 0)
  })
})

/** Reads from the example's database whether a message was recorded as sent. */
function sentMail(
  { environment }: Fixture,
  jobId: string,
): { readonly database: DatabaseSync; wasSent(): boolean } {
  const database = new DatabaseSync(join(environment.dataDirectory, 'academy.db'))
  const select = database.prepare('SELECT 1 FROM sent_mail WHERE job_id = ?')
  return { database, wasSent: () => select.get(jobId) !== undefined }
}
