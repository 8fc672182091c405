/** Compares all that a store says about jobs with the plain model. */
import assert from 'node:assert/strict'
import type { JobAttempt } from '../../src/backends/job-store.ts'
import { isFinished, jobStatuses } from '../../src/core/job-state.ts'
import { type JobModel, type ModelJob, type ModelQueue, names } from './job-model.ts'
import type { JobStores, Side } from './job-stores.ts'

export interface Compared {
  readonly stores: JobStores
  readonly side: Side
  readonly model: JobModel
  readonly queues: readonly ModelQueue[]
}

export async function compareJobs(compared: Compared): Promise<void> {
  const { stores, side, model, queues } = compared
  const { backend } = stores.store(side)
  for (const queue of queues) {
    const { ready, leased, delayed } = await backend.queueStatistics({ queue: queue.name })
    const counted = { ready, leased, delayed }
    assert.deepEqual(counted, countsOf(model, queue), `${side}: ${queue.name}`)
  }
  // Afterwards: to read a job brings it up to date, and its queue with it.
  for (const job of model.jobs) {
    await compareRecord(compared, job)
    await compareAttempts(compared, job)
    await compareLogs(compared, job)
  }
}

async function compareRecord(compared: Compared, job: ModelJob): Promise<void> {
  const { stores, side, model } = compared
  const record = await stores.store(side).jobs.read({ id: stores.idOf(job, side) })
  assert.ok(record !== undefined, `${side}: ${job.name} is unknown`)
  const { status, attemptsMade, error, result, progress, startedAt, createdAt } = job
  assert.deepEqual(
    {
      ...{ status: record.status, attemptsMade: record.attemptsMade, error: record.error },
      ...{ result: record.result, progress: record.progress, startedAt: record.startedAt },
      ...{ createdAt: record.createdAt, retryOf: record.retryOf },
      ...{ runAt: record.runAt, expiresAt: record.expiresAt, spent: record.spent },
      finishedAt: hasExactEnd(job) ? record.finishedAt : null,
    },
    {
      ...{ status, attemptsMade, error, result, progress, startedAt, createdAt },
      retryOf: job.retryOf === null ? null : stores.idOf(job.retryOf, side),
      runAt: status === 'pending' && job.readyAt > model.now ? job.readyAt : null,
      spent: job.spent === 0 ? {} : { llm: job.spent },
      expiresAt: isFinished(status) || job.expiresAfterMs === null ? null : job.expiresAt,
      finishedAt: hasExactEnd(job) ? job.finishedAt : null,
    },
    `${side}: ${job.name}`,
  )
}

async function compareAttempts({ stores, side }: Compared, job: ModelJob): Promise<void> {
  const attempts = await stores.store(side).jobs.attempts({ id: stores.idOf(job, side) })
  const compared = hasExactEnd(job) ? (all: readonly JobAttempt[]) => all : withoutEnds
  assert.deepEqual(compared(attempts), compared(historyOf(job)), `${side}: attempts of ${job.name}`)
}

async function compareLogs({ stores, side }: Compared, job: ModelJob): Promise<void> {
  const logs = await stores.store(side).jobs.logs({ id: stores.idOf(job, side) })
  const expected = job.logs.map(({ lease: _, ...line }) => line)
  assert.deepEqual(logs, expected, `${side}: logs of ${job.name}`)
}

export async function compareLists({ stores, side, model, queues }: Compared): Promise<void> {
  const { jobs } = stores.store(side)
  // What was purged is listed once it is swept away.
  const stay = (all: readonly ModelJob[]): readonly ModelJob[] =>
    all.filter(({ wasDiscarded }) => !wasDiscarded)
  for (const queue of queues) {
    const own = stay(model.jobs.filter((job) => job.queue === queue))
    for (const status of jobStatuses) {
      const { items } = await jobs.list({ queue: queue.name, status, limit: 1_000 })
      assert.deepEqual(
        names(stay(items.map(({ id }) => stores.jobOf(id, side)))).sort(),
        names(own.filter((job) => job.status === status)).sort(),
        `${side}: ${status} in ${queue.name}`,
      )
    }
  }
}

/** What was purged ends in the record when that is noticed, at the latest. */
function hasExactEnd({ wasDiscarded }: ModelJob): boolean {
  return !wasDiscarded
}

function withoutEnds(attempts: readonly JobAttempt[]): readonly JobAttempt[] {
  return attempts.map((attempt) => ({ ...attempt, endedAt: null }))
}

function historyOf(job: ModelJob): readonly JobAttempt[] {
  const { status, lease, attemptsMade: attempt, history } = job
  if (status !== 'processing' || lease === undefined) return history
  const { startedAt } = lease
  const running = { outcome: 'running', error: null, failure: null } as const
  return [...history, { attempt, startedAt, endedAt: null, ...running }]
}

function countsOf(
  model: JobModel,
  queue: ModelQueue,
): { ready: number; leased: number; delayed: number } {
  const counts = { ready: 0, leased: 0, delayed: 0 }
  for (const job of model.jobs) {
    if (job.queue !== queue || isFinished(job.status)) continue
    if (job.readyAt <= model.now) counts.ready += 1
    else if (job.isDelayed) counts.delayed += 1
    else counts.leased += 1
  }
  return counts
}
