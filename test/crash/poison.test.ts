import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import type { Task } from './workshop.ts'
import { inWorkshop, type WorkshopScene } from './workshop-scene.ts'

const attempts = 3

// Most of their time the tests wait for leases to lapse.
describe.concurrent('a job that kills every process which works on it', () => {
  test('is dead-lettered after its last attempt, and the other jobs complete', () =>
    inWorkshop('poison', async (scene) => {
      const { mill } = scene
      const poison = await enqueuePoison(scene)
      const others = await enqueueOthers(scene, attempts)
      await workThroughCrashes(scene, 1)

      const { status, attemptsMade, error } = await mill.jobs.waitFor(poison)
      assert.deepEqual([status, attemptsMade], ['failed', attempts])
      assert.equal(error, 'The lease ended before the attempt was settled.')
      const ends = (await mill.jobs.attempts(poison)).map(({ outcome }) => outcome)
      assert.deepEqual(ends, ['lapsed', 'lapsed', 'lapsed'])
      await assertCompleted(scene, others)
      const dead = await mill.queues.tasks.deadLetters?.peek()
      assert.deepEqual(
        dead?.items.map(({ id, receiveCount }) => [id, receiveCount]),
        [[poison, attempts]],
      )
    }))

  test('does not take those down that ran beside it: a last chance is had alone', () =>
    inWorkshop('poison-beside', async (scene) => {
      const poison = await enqueuePoison(scene)
      const others = await enqueueOthers(scene, attempts)
      await workThroughCrashes(scene, 10)

      assert.equal((await scene.mill.jobs.waitFor(poison)).status, 'failed')
      await assertCompleted(scene, others)
    }))
})

async function enqueuePoison(scene: WorkshopScene): Promise<string> {
  const [id] = await scene.enqueue('tasks', [{ does: 'kill' }], { attempts })
  assert.ok(id !== undefined)
  return id
}

function enqueueOthers(scene: WorkshopScene, attempts: number): Promise<readonly string[]> {
  const tasks = Array.from({ length: 60 }, (): Task => ({ takesMs: 10 }))
  return scene.enqueue('tasks', tasks, { attempts })
}

/** One worker after the other, as a supervisor would start them; the last one lives. */
async function workThroughCrashes(scene: WorkshopScene, concurrency: number): Promise<void> {
  for (let crash = 0; crash < attempts; crash += 1) {
    const { signal } = await scene.start({ poll: ['tasks'], concurrency }).gone()
    assert.equal(signal, 'SIGABRT')
  }
  scene.start({ poll: ['tasks'], concurrency })
}

async function assertCompleted({ mill }: WorkshopScene, ids: readonly string[]): Promise<void> {
  for (const id of ids) assert.equal((await mill.jobs.waitFor(id)).status, 'completed')
  const { ready, leased, delayed } = await mill.queues.tasks.statistics()
  assert.deepEqual([ready, leased, delayed], [0, 0, 0])
}
