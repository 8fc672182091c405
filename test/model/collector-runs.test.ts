import { afterAll, beforeAll, describe } from 'vitest'
import { CollectorRun, prepareQueues } from './collector-run.ts'
import { CommitFaults } from './commit-faults.ts'
import { testRandomRuns } from './random-runs.ts'
import { endEngine, sqliteEngine } from './sqlite-engine.ts'

describe('collectors in random runs with crashes, against the plain model', () => {
  const faults = new CommitFaults()
  beforeAll(() => faults.install())
  afterAll(() => faults.remove())

  testRandomRuns({
    name: 'merge every item once',
    runs: Number(process.env['MILLRACE_COLLECTOR_RUNS'] ?? 500),
    runsPerStore: 125,
    stepsPerRun: 30,
    open: async () => {
      const engine = await sqliteEngine()
      await prepareQueues(engine.backend())
      return {
        create: (setup) => new CollectorRun({ engine, faults, ...setup }),
        end: () => endEngine(engine),
      }
    },
  })
})
