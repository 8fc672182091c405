import { describe } from 'vitest'
import { testRandomRuns } from '../random-runs.ts'
import { ScheduleRun } from '../schedule-run.ts'
import { PostgresEngine, runsOnPostgres } from './postgres-engine.ts'

describe('schedules in random runs on Postgres with faults, against the plain model', () => {
  testRandomRuns({
    name: 'send every tick once',
    runs: runsOnPostgres(400),
    runsPerStore: 10,
    stepsPerRun: 60,
    open: async () => {
      const engine = await PostgresEngine.open()
      await engine.backend().createQueue({ queue: 'ticks', settings: {} })
      return {
        create: (setup) => {
          engine.follow(setup.randomness)
          return new ScheduleRun({ engine, faults: engine.faults, ...setup })
        },
        end: () => engine.end(),
      }
    },
  })
})
