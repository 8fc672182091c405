/**
 * Proves that the model run notices a missing fence: for each statement of the engine that compares
 * a lease's token, the comparison is taken out and random runs must find a difference.
 */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { afterEach, describe, test } from 'vitest'
import type { Command } from './commands.ts'
import { runAgainstModel } from './engine-run.ts'
import { assertJobsAreFenced } from './jobs-fence.ts'
import { sqliteEngine } from './sqlite-engine.ts'
import { commands } from './stories.ts'
import {
  oneLine,
  putComparisonsBack,
  statementsWithComparison,
  takeComparisonOut,
} from './token-comparisons.ts'

const seed = Number(process.env['MILLRACE_SEED'] ?? 20_260_101)
const runsMax = 1_500

/** This model knows messages only; see also the mutations of the runs over jobs. */
const aboutJobs = /\bINTO (?:finished_job|job_progress)\b/

/** Comparisons that repeat what the same transaction has just established: nothing can notice. */
const repeated: readonly { readonly statement: RegExp; readonly reason: string }[] = [
  {
    statement: /^UPDATE message SET [\w ,=?]+ WHERE sequence = \? AND token = \? AND state = 1$/,
    reason: 'a repeated receive attempt has just read these rows by their tokens',
  },
  {
    statement: /^DELETE FROM message WHERE sequence BETWEEN/,
    reason: 'the ends of the jobs were just written down by a statement that compares the tokens',
  },
  {
    statement: /^UPDATE inbox_claim SET until = \? WHERE sequence = \? AND token = \?$/,
    reason: 'the claim was just read, and its lease looked at, in the same transaction',
  },
]

afterEach(putComparisonsBack)

describe('a token comparison that is taken out', async () => {
  const fenced = statementsWithComparison()

  test('can be taken out of several statements', () => {
    assert.ok(fenced.length >= 6, `only ${fenced.length} statements compare a token`)
  })

  test('is repeated only where this file says why', () => {
    for (const { statement, reason } of repeated) {
      const matching = fenced.filter((sql) => statement.test(oneLine(sql)))
      assert.equal(matching.length, 1, `not needed any more: ${reason}`)
    }
  })

  const noticedIn: string[] = []
  const unique = fenced.filter(
    (sql) => !repeated.some(({ statement }) => statement.test(oneLine(sql))),
  )
  for (const sql of unique) {
    test(`is noticed in: ${oneLine(sql)}`, async () => {
      takeComparisonOut(sql)
      if (aboutJobs.test(sql)) {
        await assert.rejects(fencedJobs, 'nobody noticed')
        return
      }
      const { failed, numRuns, counterexamplePath } = await randomRuns({ numRuns: runsMax })
      assert.ok(failed, `${numRuns} random runs did not notice`)
      noticedIn.push(counterexamplePath ?? assert.fail('no path'))
    })
  }

  test('is what was noticed: the engine as it is passes the same runs', async () => {
    for (const path of noticedIn) {
      const { failed, errorInstance } = await randomRuns({ numRuns: 1, path })
      assert.ok(!failed, `the engine differs from the model anyway: ${errorInstance}`)
    }
    await fencedJobs()
  })
})

async function fencedJobs(): Promise<void> {
  const engine = await sqliteEngine()
  try {
    await assertJobsAreFenced(engine)
  } finally {
    await engine.close()
    await engine.remove()
  }
}

async function randomRuns(
  which: Pick<fc.Parameters, 'numRuns' | 'path'>,
): Promise<fc.RunDetails<[readonly Command[]]>> {
  const engine = await sqliteEngine()
  const property = fc.asyncProperty(commands, (list) => runAgainstModel(engine, list))
  const details = await fc.check(property, { seed, endOnFailure: true, ...which })
  await engine.close()
  await engine.remove()
  return details
}
