/** Runs the example as its README says. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'vitest'
import { startCommand } from '../../../test/support/cli-process.ts'
import { storeVariables } from '../../shared/test/store.ts'

describe('the example', () => {
  test('runs with one command and exits with 0', async () => {
    const main = join(import.meta.dirname, '../main.ts')
    const program = startCommand(process.execPath, [main], await storeVariables())
    const { code, stdout, stderr } = await program.ended
    assert.deepEqual([code, stderr], [0, ''], stdout)
    for (const line of [
      '  75: ADD_CARRY_OMITTED',
      '  58: DIGITS_TRANSPOSED; telemetry in order: RULE open, LLM tagged',
      '  2(x - 3) = 14: 2x - 6 = 14, 2x = 20, x = 10',
      '  2x - 6 = 14, 2x = 20, x = 10: score 1.00, correct',
      '  2x - 3 = 14, 2x = 17, x = \\frac{17}{2}: score 0.00, DISTRIBUTE_FIRST_ONLY',
      '  read: 47 + 38 = 85: correct',
      '  A fourth one goes to innova-backend-serverless-dev-llm-classify-dlq, without a call to Claude.',
      '  An operator lifts the switch and redrives the dead letter: the attempt is CALCULATION_SLIP.',
      'Stopped the AI engine and the server, exit codes 0, 0',
      'All checks passed.',
    ]) {
      assert.ok(stdout.split('\n').includes(line), `${line}\nis missing in\n${stdout}`)
    }
    assert.match(stdout, /^ {2}It is classified, and LLM_PAUSED is on: set by budget llm, until /m)
  })
})
