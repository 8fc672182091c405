import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import type { FinishedJob } from '../../src/index.ts'
import { seed } from '../support/seed.ts'
import { workWithKills } from './work-with-kills.ts'
import type { Task } from './workshop.ts'
import { assertOneEffectEach, createLedger } from './workshop-effects.ts'
import { inWorkshop } from './workshop-scene.ts'

const tasks = 10_000
/** Far more than a task can lose to kills by bad luck, so that none fails but those that shall. */
const attempts = 8
/** About one kill a second, by the count of tasks that were begun since the last. */
const startsPerKill = 500

describe(`two workers, of which one is killed every second (MILLRACE_SEED=${seed})`, () => {
  test('bring every job to its end, with one effect each', () =>
    inWorkshop('kill-workers', async (scene) => {
      const ledger = createLedger(scene)
      const plans = Array.from({ length: tasks }, (_, index) => plan(index))
      const ids = await scene.enqueue('tasks', plans, { attempts })
      const argument = { poll: ['tasks'], concurrency: 10, ledger } as const
      const kills = await workWithKills(scene, { workers: 2, argument, tasks, startsPerKill })
      assert.ok(kills >= 8, `there were only ${kills} kills`)

      const finished: FinishedJob[] = []
      for (const id of ids) finished.push(await scene.mill.jobs.waitFor(id))
      for (const [index, { status, attemptsMade }] of finished.entries()) {
        assert.equal(status, isHopeless(plans[index]) ? 'failed' : 'completed')
        assert.ok(attemptsMade >= 1 && attemptsMade <= attempts, `${attemptsMade} attempts`)
      }
      const completed = finished.filter(({ status }) => status === 'completed')
      const lost = completed.filter((job) => job.attemptsMade > 1 + failuresOf(job))
      assert.ok(lost.length > kills, 'hardly a task has met a kill')

      const { ready, leased, delayed } = await scene.mill.queues.tasks.statistics()
      assert.deepEqual([ready, leased, delayed], [0, 0, 0])
      await assertOneEffectEach(scene, ledger, completed)
    }))
})

/** Most take some milliseconds, some fail at first, a few always. */
function plan(index: number): Task {
  const takesMs = (index % 5) * 8
  if (index % 1_000 === 0) return { takesMs, failsUntil: attempts }
  return { takesMs, failsUntil: index % 13 === 0 ? 1 + (index % 2) : 0 }
}

function failuresOf({ payload }: FinishedJob): number {
  return (payload as Task).failsUntil ?? 0
}

function isHopeless(task: Task | undefined): boolean {
  return (task?.failsUntil ?? 0) >= attempts
}
