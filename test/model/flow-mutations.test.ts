/**
 * Proves that the random runs over fan-in would notice a missing rule: each condition on which flows
 * depend is taken out of its statement, and the runs must find a difference.
 */
import { describe } from 'vitest'
import { seededRandomness } from '../../src/testing/virtual-clock.ts'
import type { CommitFaults } from './commit-faults.ts'
import { FlowRun, prepareQueues } from './flow-run.ts'
import { type Mutation, testMutations } from './mutated-statements.ts'
import { sqliteEngine } from './sqlite-engine.ts'

const seed = Number(process.env['MILLRACE_SEED'] ?? 20_260_101)
const runsMax = 200

const finalize = "UPDATE flow SET status = 'finalized', ended_at = ?, overdue = 0, look_at"

const mutations: readonly Mutation[] = [
  {
    rule: 'a flow that is not sealed does not end',
    statement: finalize,
    part: /AND sealed = 1/,
    becomes: '',
  },
  {
    rule: 'a flow does not end before its units',
    statement: finalize,
    part: /AND\s+NOT EXISTS \(SELECT 1 FROM flow_unit .* state = 0\s*\)/,
    becomes: '',
  },
  {
    rule: 'a flow that waits does not end without its dead unit',
    statement: finalize,
    part: /policy = 'finalize' OR/,
    becomes: 'true OR',
  },
  {
    rule: 'a flow that is told to ends with what there is',
    statement: finalize,
    part: /policy = 'finalize' OR/,
    becomes: '',
  },
  {
    rule: 'a flow ends once',
    statement: finalize,
    part: /AND status = 'open'/,
    becomes: '',
  },
  {
    rule: 'a unit is marked once',
    statement: 'UPDATE flow_unit SET state = 1',
    part: /AND state <> 1/,
    becomes: '',
  },
  {
    rule: 'what is done is not given up',
    statement: 'UPDATE flow_unit SET state = 2',
    part: /AND state = 0/,
    becomes: 'AND state <> 2',
  },
  {
    rule: 'only a flow that is told to fails with a unit',
    statement: "UPDATE flow SET status = 'failed', ended_at = ?, overdue = 0, failed_unit",
    part: /AND policy = 'fail'/,
    becomes: '',
  },
  {
    rule: 'a unit has work again only in an open flow',
    statement: 'UPDATE flow_unit SET state = 0, marked_at',
    part: /AND status = 'open'/,
    becomes: '',
  },
  {
    rule: 'a message that was let go of means nothing to its unit',
    statement: 'UPDATE message SET unit = NULL',
    part: /AND unit = \?/,
    becomes: 'AND unit = ? AND false',
  },
  {
    rule: 'the quick acknowledgement leaves messages of units alone',
    statement:
      'DELETE FROM message WHERE sequence = ? AND generation = ? AND token = ? AND state = 1',
    part: /AND unit IS NULL/,
    becomes: '',
  },
  {
    rule: 'a step is started only once',
    statement: 'INSERT INTO flow_unit',
    part: /VALUES \(\?, \?, \?, 0, \?, \?\)/,
    becomes: 'VALUES (?, ?, ?, 0, ? * 0, ?)',
  },
]

describe('a rule of flows that is taken out', () => {
  testMutations(mutations, firstFailure)
})

async function firstFailure(faults: CommitFaults): Promise<unknown> {
  const engine = await sqliteEngine()
  await prepareQueues(engine.backend())
  try {
    for (let run = 0; run < runsMax; run += 1) {
      const randomness = seededRandomness(seed + run)
      await new FlowRun({ engine, faults, randomness, run: `${run}` }).run(40)
    }
    return undefined
  } catch (error) {
    return error
  } finally {
    await engine.close()
    await engine.remove()
  }
}
