import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'vitest'
import type { FinishedJob } from '../../src/index.ts'
import { leaseMs } from './workshop.ts'
import { assertOneEffectEach, createLedger } from './workshop-effects.ts'
import { inWorkshop, type WorkshopScene, type WorkshopWorker } from './workshop-scene.ts'

describe('a worker process that stands still for longer than its leases', () => {
  test('changes nothing when it wakes while another works on its jobs, and goes on', () =>
    inWorkshop('late-worker', async (scene) => {
      const ledger = createLedger(scene)
      const worker = { poll: ['tasks'], concurrency: 10, ledger } as const
      // Long enough that those of the late worker end while the other one is still at it.
      const tasks = Array.from({ length: 10 }, () => ({ takesMs: leaseMs * 1.5 }))
      const ids = await scene.enqueue('tasks', tasks)
      const late = scene.start(worker)
      await scene.until(() => late.running.length === ids.length)
      pauseBetweenCommits(scene, late)
      const heir = scene.start(worker)
      await scene.until(() => heir.running.length === ids.length)
      late.resume()
      await scene.until(() => late.running.length === 0)

      const finished: FinishedJob[] = []
      for (const id of ids) finished.push(await scene.mill.jobs.waitFor(id))
      await heir.stop()
      for (const { id, status, attemptsMade, result } of finished) {
        assert.deepEqual([status, attemptsMade], ['completed', 2])
        const run = scene.runs.find((one) => one.worker === heir && one.id === id)
        assert.deepEqual(result, { token: run?.token })
      }
      await assertOneEffectEach(scene, ledger, finished)
      const [next] = await scene.enqueue('tasks', [{}])
      await scene.until(() => late.running.length === 0 && scene.runs.at(-1)?.id === next)
      await scene.stopAll()
    }))
})

/** In the middle of a commit it would hold the store's lock, and everybody would stand still. */
function pauseBetweenCommits({ mill }: WorkshopScene, worker: WorkshopWorker): void {
  assert.ok(mill.storeFile !== null)
  const db = new DatabaseSync(mill.storeFile, { timeout: 100 })
  for (let isPaused = false; !isPaused; ) {
    worker.pause()
    try {
      db.exec('BEGIN IMMEDIATE')
      db.exec('ROLLBACK')
      isPaused = true
    } catch {
      worker.resume()
    }
  }
  db.close()
}
