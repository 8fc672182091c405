import { afterAll, beforeAll, describe, test } from 'vitest'
import { seededRandomness } from '../../src/testing/virtual-clock.ts'
import { seed } from '../support/seed.ts'
import { assertSoundStore } from '../support/store-inspection.ts'
import { CommitFaults } from './commit-faults.ts'
import { ScheduleRun } from './schedule-run.ts'
import { sqliteEngine } from './sqlite-engine.ts'

/** Set `MILLRACE_SEED` to the seed that a failure printed, and `MILLRACE_SCHEDULE_RUNS=1`. */
const runs = Number(process.env['MILLRACE_SCHEDULE_RUNS'] ?? 400)
const runsPerStore = 100
const stepsPerRun = 60

describe('schedules in random runs with crashes, against the plain model', () => {
  const faults = new CommitFaults()
  beforeAll(() => faults.install())
  afterAll(() => faults.remove())

  for (let from = 0; from < runs; from += runsPerStore) {
    const until = Math.min(runs, from + runsPerStore)
    test(`send every tick once, seeds ${seed + from} to ${seed + until - 1}`, async () => {
      const engine = await sqliteEngine()
      await engine.backend().createQueue({ queue: 'ticks', settings: {} })
      for (let index = from; index < until; index += 1) {
        const randomness = seededRandomness(seed + index)
        const run = new ScheduleRun({ engine, faults, randomness, run: `${index}` })
        try {
          await run.run(stepsPerRun)
        } catch (error) {
          const story = run.steps.slice(-60).join('\n')
          throw new Error(`MILLRACE_SEED=${seed + index}, after\n${story}`, { cause: error })
        }
      }
      await engine.close()
      assertSoundStore(engine.file)
      await engine.remove()
    }, 180_000)
  }
})
