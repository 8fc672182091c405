import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import type { Backend } from '../../src/backends/backend.ts'
import type { JobRecord, JobStore } from '../../src/backends/job-store.ts'
import { openSqlite } from '../../src/backends/sqlite/index.ts'
import { seededRandomness } from '../../src/testing/virtual-clock.ts'
import { bodiesOf } from '../support/bodies-of.ts'
import { ChildProgram } from '../support/child-program.ts'
import { assertSoundStore } from '../support/store-inspection.ts'
import { inTemporaryFolder } from '../support/temporary-folder.ts'
import { effectQueue, jobQueue } from './worker.ts'

const seed = Number(process.env['MILLRACE_SEED'] ?? Date.now() % 2 ** 31)
const jobs = 3_000
const kills = 20
/** More than kills could cost a job, so that none has to fail. */
const maxAttempts = kills + 5

describe(`two workers that are killed again and again (MILLRACE_SEED=${seed})`, () => {
  test(
    'finish every job, with one effect each',
    () =>
      inTemporaryFolder('kill-workers', async (folder) => {
        const file = folder.file('store.db')
        const backend = await openSqlite({ file })
        const store = await enqueueAll(backend)
        await workUntilDone(backend, file)

        const finished = await allJobs(store)
        assert.equal(finished.length, jobs)
        assert.deepEqual(
          finished.filter(({ status }) => status !== 'completed'),
          [],
        )
        assert.ok(finished.every(({ attemptsMade }) => attemptsMade <= maxAttempts))
        assert.ok(finished.every(({ payload, result }) => result === payload))
        assert.ok(finished.some(({ attemptsMade }) => attemptsMade > 1))
        const effects = await bodiesOf(backend, effectQueue)
        assert.equal(effects.length, jobs)
        assert.deepEqual(new Set(effects), new Set(finished.map(({ id }) => id)))
        await backend.close()
        assertSoundStore(file)
      }),
    120_000,
  )
})

async function enqueueAll(backend: Backend): Promise<JobStore> {
  await backend.createQueue({ queue: jobQueue })
  await backend.createQueue({ queue: effectQueue })
  assert.ok(backend.jobs !== null)
  const all = Array.from({ length: jobs }, (_, index) => ({
    ...{ type: 'COUNT', payload: String(index + 1), maxAttempts },
  }))
  for (let from = 0; from < jobs; from += 1_000) {
    await backend.jobs.enqueue({ queue: jobQueue, jobs: all.slice(from, from + 1_000) })
  }
  return backend.jobs
}

/** Two workers at any time; now and then one of them is killed and another takes its place. */
async function workUntilDone(backend: Backend, file: string): Promise<void> {
  const randomness = seededRandomness(seed)
  const start = (): ChildProgram =>
    new ChildProgram(new URL('./worker.child.ts', import.meta.url), { file })
  const workers = [start(), start()]
  for (let kill = 0; kill < kills; kill += 1) {
    const index = Math.floor(randomness.next() * 2)
    const victim = workers[index]
    assert.ok(victim !== undefined)
    const moment = 1 + Math.floor(randomness.next() * 12)
    for (let step = 0; step < moment; step += 1) await victim.next('progress')
    await victim.kill()
    workers[index] = start()
  }
  const [last] = workers
  assert.ok(last !== undefined)
  for (;;) {
    const { ready, leased, delayed } = await backend.queueStatistics({ queue: jobQueue })
    if (ready + leased + delayed === 0) break
    await last.next('progress')
  }
  for (const worker of workers) await worker.kill()
}

async function allJobs(store: JobStore): Promise<readonly JobRecord[]> {
  const found: JobRecord[] = []
  let after: string | undefined
  do {
    const page = await store.list({ queue: jobQueue, limit: 1_000, ...(after && { after }) })
    found.push(...page.items)
    after = page.next
  } while (after !== undefined)
  return found
}
