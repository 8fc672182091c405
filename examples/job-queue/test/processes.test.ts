/** What only real processes can show: work shared between two of them, and crashes in the middle of it. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { promisify } from 'node:util'
import { describe, onTestFinished, test } from 'vitest'
import { Program } from '../../shared/program.ts'
import { openScene, type Scene, turn } from './scene.ts'

const email = { to: 'ada@example.com', template: 'welcome' } as const
const shortLease = { JOB_QUEUE_LEASE_MS: '1000' }

async function startWorkerProcess({ variables }: Scene): Promise<Program> {
  const worker = new Program({ command: [join(import.meta.dirname, '../worker.ts')], variables })
  onTestFinished(async () => {
    await worker.stop('SIGKILL')
  })
  await worker.said(/^worker ready$/)
  return worker
}

/** The ids of the jobs that a process says it has completed. */
function completedBy(worker: Program): readonly string[] {
  return logOf(worker)
    .filter(({ msg }) => msg === 'job completed')
    .map(({ id }) => String(id))
}

function logOf({ output }: Program): readonly Record<string, unknown>[] {
  const lines = output.split('\n').filter((line) => line.startsWith('{'))
  return lines.map((line) => JSON.parse(line))
}

/** Stops a process where it stands, as a suspended machine does. */
async function freeze({ pid = 0 }: Program): Promise<void> {
  process.kill(pid, 'SIGSTOP')
  const state = promisify(execFile)
  // One letter in the system's own list of processes: T is a stopped one.
  while (!(await state('ps', ['-o', 'state=', '-p', String(pid)])).stdout.startsWith('T'));
}

/** Opens once so many messages are at the door at the same time, and stays open. */
function doorFor(count: number): () => Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  let atTheDoor = 0
  return () => {
    atTheDoor += 1
    if (atTheDoor === count) resolve()
    return promise
  }
}

/** Takes in nothing more; answers when the first message is at the door. */
function shutDoor({ mailbox }: Scene): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  mailbox.door = () => {
    resolve()
    return new Promise(() => undefined)
  }
  return promise
}

async function outcomesOf({ mill }: Scene, id: string): Promise<readonly string[]> {
  return (await mill.jobs.attempts(id)).map(({ outcome }) => outcome)
}

describe('two worker processes', () => {
  test('FEAT-33-13 Concurrent workers: jobs are shared, and every effect happens once', async () => {
    const scene = await openScene({ variables: { JOB_QUEUE_WORKER_CONCURRENCY: '2' } })
    // One worker sends two messages at a time: the door opens only when both of them are at work.
    scene.mailbox.door = doorFor(4)
    const workers = await Promise.all([startWorkerProcess(scene), startWorkerProcess(scene)])
    const mails = await Promise.all(
      Array.from({ length: 12 }, () => scene.queue.enqueueEmailJob(email)),
    )
    const notes = await Promise.all(
      Array.from({ length: 40 }, () =>
        scene.queue.enqueueNotificationJob({ user_id: 'ada', kind: 'message' }),
      ),
    )
    for (const { job_id } of [...mails, ...notes]) {
      const job = await scene.mill.jobs.waitFor(job_id)
      assert.deepEqual([job.status, job.attemptsMade], ['completed', 1])
    }
    assert.equal(scene.mailbox.received.length, 12)
    const ids = new Set(
      scene.mailbox.received.map(({ source }) => /^Message-ID: .*$/m.exec(source)?.[0]),
    )
    assert.equal(ids.size, 12)
    assert.equal(scene.services.notifications.listOf('ada').length, 40)
    const jobs = new Set(mails.map(({ job_id }) => job_id))
    for (const worker of workers) assert.ok(completedBy(worker).some((id) => jobs.has(id)))
  })

  test('Edge case: worker crash mid-job: the job is tried again by another worker', async () => {
    const scene = await openScene({ variables: shortLease })
    const atTheDoor = shutDoor(scene)
    const { job_id } = await scene.queue.enqueueEmailJob(email)
    const first = await startWorkerProcess(scene)
    await atTheDoor
    assert.equal((await scene.mill.jobs.get(job_id))?.status, 'processing')
    await first.stop('SIGKILL')
    scene.mailbox.door = async () => undefined
    await startWorkerProcess(scene)
    const job = await scene.mill.jobs.waitFor(job_id)
    assert.deepEqual([job.status, job.attemptsMade], ['completed', 2])
    assert.deepEqual(await outcomesOf(scene, job_id), ['lapsed', 'completed'])
    assert.equal(scene.mailbox.received.length, 1)
  })

  test('Edge case: worker crash mid-job: a crash in the last attempt ends the job as failed', async () => {
    const variables = { ...shortLease, JOB_QUEUE_DEFAULT_ATTEMPTS: '1' }
    const scene = await openScene({ variables })
    const atTheDoor = shutDoor(scene)
    const { job_id } = await scene.queue.enqueueEmailJob(email)
    const worker = await startWorkerProcess(scene)
    await atTheDoor
    await worker.stop('SIGKILL')
    const job = await scene.mill.jobs.waitFor(job_id)
    assert.deepEqual([job.status, job.attemptsMade], ['failed', 1])
  })

  test('Edge case: multiple workers: a worker that comes back late changes nothing, and nothing is done twice', async () => {
    const scene = await openScene({ variables: shortLease })
    const { job_id } = await scene.queue.enqueueEmailJob(email)
    using intruder = new DatabaseSync(scene.store)
    scene.mailbox.door = async () => {
      // From here on the worker can send its message, but not settle its job.
      if (!intruder.isTransaction) intruder.exec('BEGIN IMMEDIATE')
    }
    const late = await startWorkerProcess(scene)
    await scene.mailbox.count(1)
    const { database, wasSent } = sentMail(scene, job_id)
    using _ = database
    while (!wasSent()) await turn()
    await freeze(late)
    intruder.exec('ROLLBACK')
    scene.mailbox.door = async () => undefined

    await startWorkerProcess(scene)
    const job = await scene.mill.jobs.waitFor(job_id)
    assert.deepEqual([job.status, job.attemptsMade, job.result], ['completed', 2, { sent: false }])
    process.kill(late.pid ?? 0, 'SIGCONT')
    while (!logOf(late).some(({ msg }) => msg === 'job lost')) await turn()
    assert.equal((await scene.mill.jobs.get(job_id))?.attemptsMade, 2)
    assert.equal(scene.mailbox.received.length, 1)
    assert.equal(await late.stop(), 0)
  })
})

/** Looks into the example's database for the note that a message has been sent. */
function sentMail(
  { environment }: Scene,
  jobId: string,
): { readonly database: DatabaseSync; wasSent(): boolean } {
  const database = new DatabaseSync(join(environment.dataDirectory, 'academy.db'))
  const select = database.prepare('SELECT 1 FROM sent_mail WHERE job_id = ?')
  return { database, wasSent: () => select.get(jobId) !== undefined }
}
