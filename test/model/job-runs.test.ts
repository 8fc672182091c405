import { describe, test } from 'vitest'
import { seededRandomness } from '../../src/testing/virtual-clock.ts'
import { seed } from '../support/seed.ts'
import { assertSoundStore } from '../support/store-inspection.ts'
import { JobRun } from './job-run.ts'
import { sqliteEngine } from './sqlite-engine.ts'

/** Set `MILLRACE_SEED` to the seed that a failure printed, and `MILLRACE_JOB_RUNS=1`. */
const runs = Number(process.env['MILLRACE_JOB_RUNS'] ?? 300)
/** Opening a store costs more than a run, so it serves many. */
const runsPerStore = 100
const stepsPerRun = 30

describe('tracked jobs in random runs, on a store that sweeps and one that does not', () => {
  for (let from = 0; from < runs; from += runsPerStore) {
    const until = Math.min(runs, from + runsPerStore)
    test(`end as the plain model says, seeds ${seed + from} to ${seed + until - 1}`, async () => {
      const engines = { eager: await sqliteEngine(), lazy: await sqliteEngine() }
      for (let index = from; index < until; index += 1) {
        const randomness = seededRandomness(seed + index)
        const run = new JobRun({ engines, randomness, run: `${index}` })
        try {
          await run.run(stepsPerRun)
        } catch (error) {
          const story = run.steps.slice(-60).join('\n')
          throw new Error(`MILLRACE_SEED=${seed + index}, after\n${story}`, { cause: error })
        }
      }
      for (const engine of Object.values(engines)) {
        await engine.close()
        assertSoundStore(engine.file)
        await engine.remove()
      }
    }, 180_000)
  }
})
