import fc from 'fast-check'
import { describe, test } from 'vitest'
import { seed } from '../support/seed.ts'
import { assertSoundStore } from '../support/store-inspection.ts'
import { runAgainstModel } from './engine-run.ts'
import { sqliteEngine } from './sqlite-engine.ts'
import { commands } from './stories.ts'

const runs = Number(process.env['MILLRACE_MODEL_RUNS'] ?? 1_000)
/** Short stretches end with a look into the file itself. */
const runsPerStretch = 250

describe(`the SQLite engine against the reference model (MILLRACE_SEED=${seed})`, () => {
  for (let from = 0; from < runs; from += runsPerStretch) {
    test(`answers as the model does in random runs ${from} to ${from + runsPerStretch}`, async () => {
      const engine = await sqliteEngine()
      const property = fc.asyncProperty(commands, (list) => runAgainstModel(engine, list))
      await fc.assert(property, {
        seed: seed + from,
        numRuns: Math.min(runsPerStretch, runs - from),
      })
      await engine.close()
      assertSoundStore(engine.file)
      await engine.remove()
    })
  }
})
