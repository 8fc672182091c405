import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { leaseMs, type Task } from './workshop.ts'
import { inWorkshop, type WorkshopScene } from './workshop-scene.ts'

/** Longer than a lease: what runs on has to keep its lease while the worker is stopping. */
const shortTask: Task = { takesMs: leaseMs * 1.25 }

describe('a worker process that is asked to stop', () => {
  test('ends what ends in time, hands back the rest at no cost, and exits with 0', () =>
    inWorkshop('sigterm', async (scene) => {
      const short = await scene.enqueue('tasks', [shortTask, shortTask, shortTask])
      const deaf = await scene.enqueue('tasks', [{ does: 'hang' }, { does: 'hang' }])
      const obedient = await scene.enqueue('tasks', [{ does: 'listen' }, { does: 'listen' }])
      const running = [...short, ...deaf, ...obedient]
      const waiting = await scene.enqueue('tasks', [{}, {}])
      const worker = scene.start({
        poll: ['tasks'],
        concurrency: running.length,
        patient: true,
        stopTimeout: '10s',
      })
      await scene.until(() => worker.running.length === running.length)
      const { code, errorText } = await worker.stop()
      assert.equal(code, 0, errorText)

      assert.deepEqual(await endsOf(scene, short), ['completed 1', 'completed 1', 'completed 1'])
      const handedBack = [...deaf, ...obedient]
      const ends = await endsOf(scene, [...handedBack, ...waiting])
      assert.deepEqual(new Set(ends), new Set(['pending 0']))
      const { ready, leased, delayed } = await scene.mill.queues.tasks.statistics()
      assert.deepEqual([ready, leased, delayed], [ends.length, 0, 0])

      scene.start({ poll: ['tasks'], concurrency: 10 })
      for (const id of [...handedBack, ...waiting]) {
        const { status, attemptsMade } = await scene.mill.jobs.waitFor(id)
        assert.deepEqual([status, attemptsMade], ['completed', 1])
      }
      // Short tasks were run once: nobody got them while their worker was stopping.
      const runs = scene.runs.filter(({ id }) => short.includes(id))
      assert.equal(runs.length, short.length)
    }))

  test('costs no job an attempt, whatever it was doing just then', () =>
    inWorkshop('rolling-restart', async (scene) => {
      const tasks = Array.from({ length: 2_000 }, (_, index): Task => ({ takesMs: index % 8 }))
      const ids = await scene.enqueue('tasks', tasks)
      for (let restart = 1; restart <= 5; restart += 1) {
        const worker = scene.start({ poll: ['tasks'], concurrency: 10 })
        await scene.until(() => scene.runs.length >= restart * 300)
        const { code, errorText } = await worker.stop()
        assert.equal(code, 0, errorText)
        const { leased } = await scene.mill.queues.tasks.statistics()
        assert.equal(leased, 0)
      }
      scene.start({ poll: ['tasks'], concurrency: 10 })
      for (const id of ids) {
        const { status, attemptsMade } = await scene.mill.jobs.waitFor(id)
        assert.deepEqual([status, attemptsMade], ['completed', 1])
      }
      await scene.stopAll()
      assert.deepEqual(scene.runs.map(({ id }) => id).toSorted(), ids.toSorted())
    }))
})

async function endsOf({ mill }: WorkshopScene, ids: readonly string[]): Promise<readonly string[]> {
  const jobs = await Promise.all(ids.map((id) => mill.jobs.get(id)))
  return jobs.map((job) => `${job?.status} ${job?.attemptsMade}`)
}
