import { afterAll, beforeAll, describe } from 'vitest'
import { CommitFaults } from './commit-faults.ts'
import { testRandomRuns } from './random-runs.ts'
import { ScheduleRun } from './schedule-run.ts'
import { endEngine, sqliteEngine } from './sqlite-engine.ts'

describe('schedules in random runs with crashes, against the plain model', () => {
  const faults = new CommitFaults()
  beforeAll(() => faults.install())
  afterAll(() => faults.remove())

  testRandomRuns({
    name: 'send every tick once',
    runs: Number(process.env['MILLRACE_SCHEDULE_RUNS'] ?? 400),
    runsPerStore: 100,
    stepsPerRun: 60,
    open: async () => {
      const engine = await sqliteEngine()
      await engine.backend().createQueue({ queue: 'ticks', settings: {} })
      return {
        create: (setup) => new ScheduleRun({ engine, faults, ...setup }),
        end: () => endEngine(engine),
      }
    },
  })
})
