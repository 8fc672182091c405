/** Runs the example as its README says: template, server, webhooks and workers as processes. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'vitest'
import { startCommand } from '../../../test/support/cli-process.ts'

const main = join(import.meta.dirname, '..', 'main.ts')
const write = join(import.meta.dirname, '..', 'demo', 'write.ts')

describe('writing by hand', () => {
  test.each([
    ['somebody who is none of the sample conversations', ['zoe', 'Hello']],
    ['nothing', ['ada']],
  ])('as %s is one line that says who can', async (_, args) => {
    const { code, stdout, stderr } = await startCommand(process.execPath, [write, ...args]).ended
    assert.deepEqual([code, stdout], [2, ''])
    assert.equal(stderr, 'Expected one of ada, ben, cleo, dora, emil, and what they write.\n')
  })
})

describe('the example', () => {
  test('plays its story with one command, and ends well', async () => {
    const { code, stdout, stderr } = await startCommand(process.execPath, [main]).ended
    assert.deepEqual([code, stderr], [0, ''], stdout)
    for (const line of [
      /one payload, and get one answer: Hello Ada.*"Hello I ordered .* where is it\?"/,
      /^ {2}Claimed \S+ until /m,
      /^ {2}Resolved \S+\.$/m,
      /^The provider delivers .* 200, a duplicate\.$/m,
      /^Somebody who does not know the secret .* 403\.$/m,
      /^Somebody writes whom nobody knows: 404/m,
      /^She has her answer at once\.$/m,
      /^ {2}ALARM +critical +ai-multi-comms-SMSTargetDLQ-NotEmpty-dev .*depth above 0 for 1m/m,
      /^ {2}Moved 1 of 1: completed\.$/m,
      /^Ben is answered: .*Thanks for the call!$/m,
      /SMSTargetDLQ-NotEmpty-dev +ALARM +OK +The latest number is 0/,
      /SMSTargetDLQ-NotEmpty-dev +\w+ +ALARM +The latest number is 1/,
      /exit codes 0, 0, 0$/m,
      /^Everything is as it should be\.$/m,
    ]) {
      assert.match(stdout, line)
    }
    // The alarm is real: two evaluations are waited for, and there is one a minute.
  }, 300_000)
})
