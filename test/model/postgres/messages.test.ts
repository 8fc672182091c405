import fc from 'fast-check'
import { describe, test } from 'vitest'
import { seededRandomness } from '../../../src/testing/virtual-clock.ts'
import { seed } from '../../support/seed.ts'
import { runAgainstModel } from '../engine-run.ts'
import { commands } from '../stories.ts'
import { PostgresEngine, runsOnPostgres } from './postgres-engine.ts'

const runs = runsOnPostgres(2_000)
const runsPerStore = 20

describe(`the Postgres engine against the reference model (MILLRACE_SEED=${seed})`, () => {
  for (let from = 0; from < runs; from += runsPerStore) {
    const until = Math.min(runs, from + runsPerStore)
    test(`answers as the model does in random runs ${from} to ${until}`, async () => {
      const engine = await PostgresEngine.open()
      const property = fc.asyncProperty(fc.nat(), commands, (processes, list) => {
        engine.follow(seededRandomness(processes))
        engine.cutSilently(0.01)
        return runAgainstModel(engine, list)
      })
      await fc.assert(property, { seed: seed + from, numRuns: until - from, endOnFailure: true })
      await engine.end()
    }, 600_000)
  }
})
