import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { openPostgres } from '../../src/backends/postgres/index.ts'
import type { FinishedJob } from '../../src/index.ts'
import { query } from '../services/query.ts'
import { bodiesOf } from '../support/bodies-of.ts'
import { seed } from '../support/seed.ts'
import { workWithKills } from './work-with-kills.ts'
import type { Task } from './workshop.ts'
import { inPostgresWorkshop, type WorkshopScene } from './workshop-scene.ts'

const tasks = 10_000
/** Far more than a task can lose to kills by bad luck, so that none fails. */
const attempts = 8
/** Of each call. */
const enqueued = 500
const startsPerKill = 800

describe(`four workers on Postgres, of which one is killed again and again (MILLRACE_SEED=${seed})`, () => {
  test('complete every job that was enqueued meanwhile, with one effect each', () =>
    inPostgresWorkshop(async (scene) => {
      await query(scene.store, 'CREATE TABLE effect (id TEXT NOT NULL, token BIGINT NOT NULL)')
      const argument = { poll: ['tasks'], concurrency: 10, writesWithin: true } as const
      const [kills, ids] = await Promise.all([
        workWithKills(scene, { workers: 4, argument, tasks, startsPerKill }),
        enqueueAll(scene),
      ])
      assert.ok(kills >= 8, `there were only ${kills} kills`)
      assert.equal(new Set(ids).size, tasks)

      const finished: FinishedJob[] = []
      for (const id of ids) finished.push(await scene.mill.jobs.waitFor(id, { timeout: '1h' }))
      await scene.stopAll()
      const lost = finished.filter(({ attemptsMade }) => attemptsMade > 1)
      assert.ok(lost.length >= kills, 'hardly a task has met a kill')
      for (const { id, status } of finished) assert.equal(status, 'completed', id)
      for (const { id, attemptsMade } of lost) {
        const history = await scene.mill.jobs.attempts(id)
        const ends = history.map(({ attempt, outcome }) => `${attempt} ${outcome}`)
        const lapsed = Array.from({ length: attemptsMade - 1 }, (_, index) => `${index + 1} lapsed`)
        assert.deepEqual(ends, [...lapsed, `${attemptsMade} completed`])
      }
      await assertOneEffectEach(scene, finished)
      await assertCounted(scene)
    }))
})

async function enqueueAll(scene: WorkshopScene): Promise<readonly string[]> {
  const ids: string[] = []
  for (let from = 0; from < tasks; from += enqueued) {
    // Workers have begun most of what is there, so that enqueues and kills come together.
    await scene.until(() => scene.runs.length >= from / 2)
    const some = Array.from(
      { length: enqueued },
      (_, index): Task => ({ takesMs: (index % 5) * 4 }),
    )
    ids.push(...(await scene.enqueue('tasks', some, { attempts })))
  }
  return ids
}

/** The row and the message of each job are those of the run that has settled it. */
async function assertOneEffectEach(
  { store, mill }: WorkshopScene,
  jobs: readonly FinishedJob[],
): Promise<void> {
  const rows = await query(store, 'SELECT id, token FROM effect')
  const written = rows.map(({ id, token }) => JSON.stringify([id, { token: Number(token) }]))
  const settled = jobs.map(({ id, result }) => JSON.stringify([id, result]))
  assert.deepEqual(written.toSorted(), settled.toSorted())
  const { backend } = await openPostgres({ url: store })
  const bodies = await bodiesOf(backend, mill.queues.effects.name)
  await backend.close()
  const emitted = bodies.map((body): string => JSON.parse(body))
  assert.deepEqual(emitted.toSorted(), jobs.map(({ id }) => id).toSorted())
}

async function assertCounted({ mill }: WorkshopScene): Promise<void> {
  const { ready, leased, delayed, totals } = await mill.queues.tasks.statistics()
  assert.deepEqual([ready, leased, delayed], [0, 0, 0])
  assert.deepEqual([totals.sent, totals.acknowledged], [tasks, tasks])
  const { ready: effects } = await mill.queues.effects.statistics()
  assert.equal(effects, tasks)
}
