import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { test } from 'vitest'
import { inTemporaryFolder } from '../support/temporary-folder.ts'

const program = fileURLToPath(new URL('throwing.program.ts', import.meta.url))

test('a program without a log shows why its handler failed, before the next attempt', () =>
  inTemporaryFolder('throwing', async ({ path }) => {
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', program, path])
    let [threw, shown] = ['', '']
    child.stdout.on('data', (chunk) => {
      threw += chunk
    })
    for await (const chunk of child.stderr) {
      shown += chunk
      if (shown.includes('no such scanner')) break
    }
    child.kill('SIGKILL')
    await once(child, 'exit')
    assert.match(shown, /^millrace: job OCR [\w-]+ of scans: attempt 1 of 3 failed, retry in \ds\n/)
    assert.match(shown, /\n {2}TypeError: cannot read p1\.png\n {6}at .*throwing\.program\.ts:\d+/)
    assert.match(shown, /\n {2}caused by Error: no such scanner\n/)
    assert.equal(threw, 'threw\n')
  }))
