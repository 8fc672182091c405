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
      /^mills\.pdf is ready: 3 pages/m,
      /^handbook\.docx is ready: 3 pages/m,
      /found in mills\.pdf, page 2, "The stones"/,
      /\b[45]\d{3} tokens written to the cache/,
      /^ {2}The flow is finalized: 16 of 16 units done\.$/m,
      /^ {2}The model had at most [123] requests at once\.$/m,
      /^ {2}The document was finalized once\.$/m,
      /^An altered upload URL: 403\.$/m,
      /^again\.docx is ready\.$/m,
      /^Stopped the workers, exit codes 0, 0\.$/m,
      /^A worker with --drain made all three ready/m,
      /inline\.docx is ready\.$/m,
      /^All checks passed\.$/m,
    ]) {
      assert.match(stdout, line)
    }
    // It starts seven processes, possibly on a busy machine.
  })
})
