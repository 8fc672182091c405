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

  const noticedIn = new Set<number>()
  for (const sql of ofJobs) {
    test(`is noticed in: ${oneLine(sql)}`, async () => {
      takeComparisonOut(sql)
      const { failure, run } = await firstFailure({ from: 0, until: runsMax })
      assert.ok(failure !== undefined, `${run} random runs did not notice`)
      noticedIn.add(run)
    })
  }

  test('is what was noticed: the engine as it is passes the same runs', async () => {
    for (const run of noticedIn) {
      const { failure } = await firstFailure({ from: run, until: run + 1 })
      assert.equal(failure, undefined)
    }
  })
})

interface Runs {
  readonly from: number
  readonly until: number
}

/** The run that fails first, or else the one after the last. */
async function firstFailure({
  from,
  until,
}: Runs): Promise<{ readonly failure: unknown; readonly run: number }> {
  const engines = { eager: await sqliteEngine(), lazy: await sqliteEngine() }
  let run = from
  try {
    for (; run < until; run += 1) {
      const randomness = seededRandomness(seed + run)
      await new JobRun({ engines, randomness, run: `${run}` }).run(stepsPerRun)
    }
    return { failure: undefined, run }
  } catch (failure) {
    return { failure, run }
  } finally {
    for (const engine of Object.values(engines)) {
      await engine.close()
      await engine.remove()
    }
  }
}
