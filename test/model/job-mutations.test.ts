/**
 * Proves that the random runs over tracked jobs notice a missing fence: each comparison of a token that
 * jobs depend on is taken out of its statement, and the runs must find a difference.
 */
import assert from 'node:assert/strict'
import { afterEach, describe, test } from 'vitest'
import { seededRandomness } from '../../src/testing/virtual-clock.ts'
import { JobRun } from './job-run.ts'
import { sqliteEngine } from './sqlite-engine.ts'
import {
  oneLine,
  putComparisonsBack,
  statementsWithComparison,
  takeComparisonOut,
} from './token-comparisons.ts'

const seed = Number(process.env['MILLRACE_SEED'] ?? 20_260_101)
const runsMax = 600
const stepsPerRun = 30

/** Comparisons that no job depends on; those of plain messages have mutations of their own. */
const notOfJobs: readonly { readonly statement: RegExp; readonly reason: string }[] = [
  { statement: /^SELECT sequence, receive_count, /, reason: 'jobs are not received by attempt id' },
  {
    statement: /^UPDATE message SET [\w ,=?]+ WHERE sequence = \? AND token = \? AND state = 1$/,
    reason: 'jobs are not received by attempt id',
  },
  { statement: /^DELETE FROM message .* AND job_type IS NULL$/, reason: 'not for jobs' },
  {
    statement: /^DELETE FROM message .* \(job_type IS NULL OR \? = 1\)/,
    reason: 'a job that is completed late has its end written down by its token first',
  },
  {
    statement: /^DELETE FROM message WHERE sequence BETWEEN/,
    reason: 'the ends of the jobs were just written down by a statement that compares the tokens',
  },
  {
    statement: /^UPDATE message SET sequence = \?, generation = \?, id = \?/,
    reason: 'the end of the job was just written down by a statement that compares the token',
  },
  { statement: /^UPDATE inbox_claim /, reason: 'a person claims messages, not jobs' },
]

afterEach(putComparisonsBack)

describe('a token comparison that jobs depend on and that is taken out', async () => {
  const fenced = statementsWithComparison()
  const ofJobs = fenced.filter(
    (sql) => !notOfJobs.some(({ statement }) => statement.test(oneLine(sql))),
  )

  test('is left to others only where this file says why', () => {
    for (const { statement, reason } of notOfJobs) {
      const matching = fenced.filter((sql) => statement.test(oneLine(sql)))
      assert.equal(matching.length, 1, `${matching.length} statements: ${reason}`)
    }
    assert.ok(ofJobs.length >= 6, `only ${ofJobs.length} statements are left`)
  })

  let runsNeeded = 1
  for (const sql of ofJobs) {
    test(`is noticed in: ${oneLine(sql)}`, async () => {
      takeComparisonOut(sql)
      const { failure, runs } = await firstFailure(runsMax)
      assert.ok(failure !== undefined, `${runs} random runs did not notice`)
      runsNeeded = Math.max(runsNeeded, runs)
    })
  }

  test('is what was noticed: the engine as it is passes the same runs', async () => {
    const { failure } = await firstFailure(runsNeeded)
    assert.equal(failure, undefined)
  })
})

async function firstFailure(
  runsAtMost: number,
): Promise<{ readonly failure: unknown; readonly runs: number }> {
  const engines = { eager: await sqliteEngine(), lazy: await sqliteEngine() }
  let runs = 0
  try {
    for (; runs < runsAtMost; runs += 1) {
      const randomness = seededRandomness(seed + runs)
      await new JobRun({ engines, randomness, run: `${runs}` }).run(stepsPerRun)
    }
    return { failure: undefined, runs }
  } catch (failure) {
    return { failure, runs: runs + 1 }
  } finally {
    for (const engine of Object.values(engines)) {
      await engine.close()
      await engine.remove()
    }
  }
}
