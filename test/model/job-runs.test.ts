import { describe } from 'vitest'
import { JobRun } from './job-run.ts'
import { testRandomRuns } from './random-runs.ts'
import { endEngine, sqliteEngine } from './sqlite-engine.ts'

describe('tracked jobs in random runs, on a store that sweeps and one that does not', () => {
  testRandomRuns({
    name: 'end as in the plain model',
    runs: Number(process.env['MILLRACE_JOB_RUNS'] ?? 300),
    runsPerStore: 100,
    stepsPerRun: 30,
    open: async () => {
      const engines = { eager: await sqliteEngine(), lazy: await sqliteEngine() }
      return {
        create: (setup) => new JobRun({ engines, ...setup }),
        end: async () => {
          for (const engine of Object.values(engines)) await endEngine(engine)
        },
      }
    },
  })
})
