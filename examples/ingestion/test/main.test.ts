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
      /^mills\.pdf is ready: 3 pages/m,
      /^handbook\.docx is ready: 3 pages/m,
      /answered in mills\.pdf, page 2, "The stones"/,
      /\b[45]\d{3} tokens written to the cache/,
      /^ {2}The flow is finalized: 64 of 64 units done\.$/m,
      /^ {2}The model had at most [123] requests at once\.$/m,
      /^ {2}The document was finalized once\.$/m,
      /^An upload address that was altered: 403\.$/m,
      /^again\.docx is ready\.$/m,
      /^Stopped the workers, exit codes 0, 0\.$/m,
      /^A worker with --drain has made all three ready/m,
      /inline\.docx is ready\.$/m,
      /^Everything is as it should be\.$/m,
    ]) {
      assert.match(stdout, line)
    }
    // Seven processes, on a machine that may have much else to do.
  }, 120_000)
})
