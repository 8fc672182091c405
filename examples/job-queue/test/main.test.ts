/** Runs the example as its README says. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'vitest'
import { startCommand } from '../../../test/support/cli-process.ts'

const main = join(import.meta.dirname, '..', 'main.ts')

describe('the example', () => {
  test('plays its story with one command, and ends well', async () => {
    const { code, stdout, stderr } = await startCommand(process.execPath, [main]).ended
    assert.deepEqual([code, stderr], [0, ''], stdout)
    for (const line of [
      'A search for "mill wheel" finds the page.',
      'The SMTP server has one message for ada@example.com.',
      'Ada has one notification.',
      "  Ada's browser hears the end: completed",
      "  Bob's browser hears the end: failed_insufficient_credits",
      '  course_generation_queue: 10 completed, 1 failed',
      'A chain stopped at module_lessons: The subscription has no AI credits left.',
      'Everything is as it should be.',
    ]) {
      assert.ok(stdout.split('\n').includes(line), `${line}\nis missing in\n${stdout}`)
    }
  })
})
