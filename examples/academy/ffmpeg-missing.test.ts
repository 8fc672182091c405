import assert from 'node:assert/strict'
import { fileURLToPath } from 'node:url'
import { test } from 'vitest'
import { startCommand } from '../../test/support/cli-process.ts'

test('without ffmpeg the example prints how to install it, and does nothing', async () => {
  const main = fileURLToPath(new URL('main.ts', import.meta.url))
  const { code, stdout, stderr } = await startCommand(process.execPath, [main], { PATH: '' }).ended
  assert.equal(code, 1)
  assert.equal(stdout, '')
  assert.match(stderr, /^ffmpeg is not installed\. .*apt-get install ffmpeg\n$/)
})
