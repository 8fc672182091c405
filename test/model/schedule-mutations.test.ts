/**
 * Proves that the random runs over schedules would notice a missing rule: each condition on which a tick
 * depends is taken out of its statement, and the runs must find a difference.
 */
import { describe } from 'vitest'
import { seededRandomness } from '../../src/testing/virtual-clock.ts'
import type { CommitFaults } from './commit-faults.ts'
import { type Mutation, testMutations } from './mutated-statements.ts'
import { ScheduleRun } from './schedule-run.ts'
import { sqliteEngine } from './sqlite-engine.ts'

const seed = Number(process.env['MILLRACE_SEED'] ?? 20_260_101)
const runsMax = 200

const tick = 'UPDATE schedule SET next_at = ?, last_at'
const always = '(? IS NOT NULL OR 1)'

const mutations: readonly Mutation[] = [
  {
    rule: 'a tick happens once',
    statement: tick,
    part: /AND next_at = \?/,
    becomes: `AND ${always}`,
  },
  {
    rule: 'a tick follows the rule that counts',
    statement: tick,
    part: /AND rule = \?/,
    becomes: `AND ${always}`,
  },
  {
    rule: 'a tick sends what is set now',
    statement: tick,
    part: /AND definition IS NOT DISTINCT FROM \?/,
    becomes: `AND ${always}`,
  },
  {
    rule: 'a paused schedule does not tick',
    statement: tick,
    part: /AND paused_at IS NULL/,
    becomes: '',
  },
  {
    rule: 'a schedule keeps its next tick while its rule is the same',
    statement: 'UPDATE schedule SET next_at = CASE',
    part: /WHEN rule = \? THEN/,
    becomes: 'WHEN ? IS NULL THEN',
  },
  {
    rule: 'a schedule that was set ends with its last tick',
    statement: 'DELETE FROM schedule WHERE name = ? AND next_at IS NULL',
    part: /AND next_at IS NULL/,
    becomes: 'AND false',
  },
  {
    rule: 'a schedule that was set is not abandoned',
    statement: 'SELECT name FROM schedule INDEXED BY schedule_declared',
    part: /INDEXED BY schedule_declared WHERE definition IS NULL AND/,
    becomes: 'WHERE',
  },
  {
    rule: 'only a paused schedule is resumed',
    statement: 'UPDATE schedule SET paused_at = NULL',
    part: /AND paused_at IS NOT NULL/,
    becomes: '',
  },
]

describe('a rule of schedules that is taken out', () => {
  testMutations(mutations, firstFailure)
})

async function firstFailure(faults: CommitFaults): Promise<unknown> {
  const engine = await sqliteEngine()
  await engine.backend().createQueue({ queue: 'ticks', settings: {} })
  try {
    for (let run = 0; run < runsMax; run += 1) {
      const randomness = seededRandomness(seed + run)
      await new ScheduleRun({ engine, faults, randomness, run: `${run}` }).run(60)
    }
    return undefined
  } catch (error) {
    return error
  } finally {
    await engine.close()
    await engine.remove()
  }
}
