import { describe } from 'vitest'
import { JobRun } from '../job-run.ts'
import { testRandomRuns } from '../random-runs.ts'
import { PostgresEngine, runsOnPostgres } from './postgres-engine.ts'

describe('tracked jobs in random runs on Postgres, on a store that sweeps and one that does not', () => {
  testRandomRuns({
    name: 'end as in the plain model',
    runs: runsOnPostgres(300),
    runsPerStore: 10,
    stepsPerRun: 30,
    open: async () => {
      const engines = { eager: await PostgresEngine.open(), lazy: await PostgresEngine.open() }
      const all = Object.values(engines)
      return {
        create: (setup) => {
          for (const engine of all) {
            engine.follow(setup.randomness)
            engine.cutSilently(0.01)
          }
          return new JobRun({ engines, ...setup })
        },
        end: async () => {
          for (const engine of all) await engine.end()
        },
      }
    },
  })
})
