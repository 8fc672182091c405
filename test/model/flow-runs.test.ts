import { afterAll, beforeAll, describe } from 'vitest'
import { CommitFaults } from './commit-faults.ts'
import { FlowRun, prepareQueues } from './flow-run.ts'
import { testRandomRuns } from './random-runs.ts'
import { endEngine, sqliteEngine } from './sqlite-engine.ts'

describe('fan-in in random runs with crashes, against the plain model', () => {
  const faults = new CommitFaults()
  beforeAll(() => faults.install())
  afterAll(() => faults.remove())

  testRandomRuns({
    name: 'ends every flow once',
    runs: Number(process.env['MILLRACE_FLOW_RUNS'] ?? 1_000),
    runsPerStore: 250,
    stepsPerRun: 32,
    open: async () => {
      const engine = await sqliteEngine()
      await prepareQueues(engine.backend())
      return {
        create: (setup) => new FlowRun({ engine, faults, ...setup }),
        end: () => endEngine(engine),
      }
    },
  })
})
