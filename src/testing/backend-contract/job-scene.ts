/** What the contract tests about jobs have in common. */
import assert from 'node:assert/strict'
import type { Outcome } from '../../backends/backend.ts'
import type { EnqueuedJob, JobRecord, JobStore, NewJob } from '../../backends/job-store.ts'
import { only, type Scene } from './scene.ts'

export const ocrJob: NewJob = { type: 'OCR', payload: '{"page":1}', maxAttempts: 2 }

export function jobsOf({ backend }: Scene): JobStore {
  assert.ok(backend.jobs !== null)
  return backend.jobs
}

export async function enqueue(scene: Scene, changes: Partial<NewJob> = {}): Promise<EnqueuedJob> {
  return only(await jobsOf(scene).enqueue({ queue: 'q', jobs: [{ ...ocrJob, ...changes }] }))
}

export async function readJob(scene: Scene, id: string): Promise<JobRecord> {
  const record = await jobsOf(scene).read({ id })
  assert.ok(record !== undefined, 'the job is not there')
  return record
}

/** Receives the next job and ends its attempt. */
export async function runOnce(scene: Scene, outcome: Outcome): Promise<void> {
  const { receipt } = await scene.receiveOne('q')
  assert.equal((await scene.settle('q', receipt, outcome)).status, 'settled')
}

export async function attemptOutcomes(scene: Scene, id: string): Promise<unknown[]> {
  const attempts = await jobsOf(scene).attempts({ id })
  return attempts.map(({ attempt, outcome, error }) => [attempt, outcome, error])
}
