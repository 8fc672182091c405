import { describe } from 'vitest'
import { CollectorRun, prepareQueues } from '../collector-run.ts'
import { testRandomRuns } from '../random-runs.ts'
import { PostgresEngine, runsOnPostgres } from './postgres-engine.ts'

describe('collectors in random runs on Postgres with faults, against the plain model', () => {
  testRandomRuns({
    name: 'merge every item once',
    runs: runsOnPostgres(1_000),
    runsPerStore: 10,
    stepsPerRun: 30,
    open: async () => {
      const engine = await PostgresEngine.open()
      await prepareQueues(engine.backend())
      return {
        create: (setup) => {
          engine.follow(setup.randomness)
          return new CollectorRun({ engine, faults: engine.faults, ...setup })
        },
        end: () => engine.end(),
      }
    },
  })
})
