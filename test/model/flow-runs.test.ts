import { afterAll, beforeAll, describe, test } from 'vitest'
import { seededRandomness } from '../../src/testing/virtual-clock.ts'
import { seed } from '../support/seed.ts'
import { assertSoundStore } from '../support/store-inspection.ts'
import { CommitFaults } from './commit-faults.ts'
import { FlowInspector, FlowRun, prepareQueues } from './flow-run.ts'
import { sqliteEngine } from './sqlite-engine.ts'

/** Set `MILLRACE_SEED` to the seed that a failure printed, and `MILLRACE_FLOW_RUNS=1`. */
const runs = Number(process.env['MILLRACE_FLOW_RUNS'] ?? 1_000)
/** Opening a store costs more than a run, so it serves many. */
const runsPerStore = 250
const stepsPerRun = 32

describe('fan-in in random runs with crashes, against the plain model', () => {
  const faults = new CommitFaults()
  beforeAll(() => faults.install())
  afterAll(() => faults.remove())

  for (let from = 0; from < runs; from += runsPerStore) {
    const until = Math.min(runs, from + runsPerStore)
    test(`ends every flow once, seeds ${seed + from} to ${seed + until - 1}`, async () => {
      const engine = await sqliteEngine()
      await prepareQueues(engine.backend())
      const inspector = new FlowInspector(engine.file)
      for (let index = from; index < until; index += 1) {
        const randomness = seededRandomness(seed + index)
        const run = new FlowRun({ engine, faults, inspector, randomness, run: `${index}` })
        try {
          await run.run(stepsPerRun)
        } catch (error) {
          const story = run.steps.slice(-40).join('\n')
          throw new Error(`MILLRACE_SEED=${seed + index}, after\n${story}`, { cause: error })
        }
      }
      inspector.db.close()
      await engine.close()
      assertSoundStore(engine.file)
      await engine.remove()
    }, 180_000)
  }
})
