import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { Program } from './program.ts'

describe('a program', () => {
  test('receives a signal while it runs', async () => {
    const script =
      'process.on("SIGUSR2", () => process.exit(7)); console.log("ready"); setInterval(() => {}, 1e6)'
    const program = new Program({ command: ['-e', script], variables: {} })
    await program.waitForLine(/^ready$/)
    program.signal('SIGUSR2')
    assert.equal(await program.ended, 7)
  })

  test('that has ended receives no signal: the call throws', async () => {
    const program = new Program({ command: ['-e', ''], variables: {} })
    await program.ended
    assert.throws(() => program.signal('SIGSTOP'), /SIGSTOP: the program is not running/)
  })

  test('that ends early rejects the wait for a line, and shows what it printed', async () => {
    const program = new Program({ command: ['-e', 'console.log("broken")'], variables: {} })
    await assert.rejects(program.waitForLine(/^ready$/), /without a line \/\^ready\$\/:\nbroken/)
  })
})
