import { describe } from 'vitest'
import { FlowRun, prepareQueues } from '../flow-run.ts'
import { testRandomRuns } from '../random-runs.ts'
import { PostgresEngine, runsOnPostgres } from './postgres-engine.ts'

describe('fan-in in random runs on Postgres with faults, against the plain model', () => {
  testRandomRuns({
    name: 'ends every flow once',
    runs: runsOnPostgres(1_000),
    runsPerStore: 10,
    stepsPerRun: 32,
    open: async () => {
      const engine = await PostgresEngine.open()
      await prepareQueues(engine.backend())
      return {
        create: (setup) => {
          engine.follow(setup.randomness)
          return new FlowRun({ engine, faults: engine.faults, ...setup })
        },
        end: () => engine.end(),
      }
    },
  })
})
