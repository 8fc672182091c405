/** Runs the example as its README says: template, server, webhooks and workers as processes. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'vitest'
import { startCommand } from '../../../test/support/cli-process.ts'
import { isOnPostgres, storeVariables } from '../../shared/test/store.ts'

const main = join(import.meta.dirname, '..', 'main.ts')
const write = join(import.meta.dirname, '..', 'demo', 'write.ts')

describe('writing by hand', () => {
  test.each([
    ['an unknown customer', ['zoe', 'Hello']],
    ['nothing', ['ada']],
  ])('with %s prints the usage', async (_, args) => {
    const { code, stdout, stderr } = await startCommand(process.execPath, [write, ...args]).ended
    assert.deepEqual([code, stdout], [2, ''])
    assert.equal(stderr, 'Usage: write.ts <ada|ben|cleo|dora|emil> <text> ...\n')
  })
})

describe('the example', () => {
  test('runs with one command and exits with 0', async () => {
    // The wait for the end of a minute is long, and does not depend on the store.
    const args = isOnPostgres() ? [main, '--skip-alarm'] : [main]
    const program = startCommand(process.execPath, args, await storeVariables())
    const { code, stdout, stderr } = await program.ended
    assert.deepEqual([code, stderr], [0, ''], stdout)
    for (const line of [
      /one payload and get one reply: Hello Ada.*"Hello I ordered .* where is it\?"/,
      /^ {2}Claimed \S+ until /m,
      /^ {2}Resolved \S+\.$/m,
      /^The provider delivers .* 200, a duplicate\.$/m,
      /^A call with a forged signature: 403\.$/m,
      /^A message from an unknown sender: 404/m,
      /^She gets her reply at once\.$/m,
      /^ {2}Moved 1 of 1 message: completed\.$/m,
      /^Ben gets his reply: .*Thanks for the call!$/m,
      /exit codes 0, 0, 0$/m,
      /^All checks passed\.$/m,
    ]) {
      assert.match(stdout, line)
    }
    const alarm =
      /^ {2}ALARM +critical +ai-multi-comms-SMSTargetDLQ-NotEmpty-dev .*depth above 0 for 1m/m
    if (!isOnPostgres()) assert.match(stdout, alarm)
  })
})
