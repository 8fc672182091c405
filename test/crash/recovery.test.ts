import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { leaseMs, sharedMs, sweepMs } from './workshop.ts'
import { inWorkshop } from './workshop-scene.ts'

/** For a machine that has other things to do. */
const marginMs = 15_000

describe('the jobs of a worker that was killed', () => {
  test('are all taken up by another within a lease and a sweep, and not before', () =>
    inWorkshop('recovery', async (scene) => {
      const tasks = Array.from({ length: 10 }, () => ({ does: 'hang' as const }))
      const ids = await scene.enqueue('tasks', tasks)
      const victim = scene.start({ poll: ['tasks'], concurrency: 10, patient: true })
      await scene.until(() => victim.running.length === ids.length)
      const heir = scene.start({ poll: ['tasks'], concurrency: 10 })
      await heir.ready()

      const killedMs = sharedMs()
      await victim.kill()
      for (const id of ids) {
        const { status, attemptsMade } = await scene.mill.jobs.waitFor(id)
        assert.deepEqual([status, attemptsMade], ['completed', 2])
      }
      await heir.stop()
      const taken = scene.runs.filter(({ worker }) => worker === heir)
      assert.deepEqual(taken.map(({ id }) => id).toSorted(), ids.toSorted())
      for (const { startedMs } of taken) {
        const afterMs = startedMs - killedMs
        assert.ok(afterMs > 0, 'it was taken from a live worker')
        assert.ok(afterMs <= leaseMs + sweepMs + marginMs, `taken up after ${afterMs} ms`)
      }
    }))
})
