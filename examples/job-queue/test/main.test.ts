/** Runs the example as its README says. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'vitest'
import { startCommand } from '../../../test/support/cli-process.ts'
import { storeVariables } from '../../shared/test/store.ts'

const main = join(import.meta.dirname, '..', 'main.ts')

describe('the example', () => {
  test('runs with one command and exits with 0', async () => {
    const program = startCommand(process.execPath, [main], await storeVariables())
    const { code, stdout, stderr } = await program.ended
    assert.deepEqual([code, stderr], [0, ''], stdout)
    for (const line of [
      'A search for "mill wheel" finds the page.',
      'The SMTP server has one message for ada@example.com.',
      'Ada has one notification.',
      "  Ada's browser receives the end: completed",
      "  Bob's browser receives the end: failed_insufficient_credits",
      '  course_generation_queue: 10 completed, 1 failed',
      'A chain stopped at module_lessons: The subscription has no AI credits left.',
      'All checks passed.',
    ]) {
      assert.ok(stdout.split('\n').includes(line), `${line}\nis missing in\n${stdout}`)
    }
  })
})
