import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, test } from 'vitest'
import { openSqlite } from '../../src/backends/sqlite/index.ts'
import { assertSoundStore } from '../support/store-inspection.ts'
import { inTemporaryFolder } from '../support/temporary-folder.ts'

const child = fileURLToPath(new URL('./failing-sync.child.ts', import.meta.url))
/** strace makes chosen system calls fail, at an exact count. */
const canInject = spawnSync('strace', ['-V']).status === 0
const sends = 40

interface Told {
  readonly acknowledged: readonly string[]
  readonly failures: readonly string[]
}

function sendWithFault(file: string, inject: string): Told {
  const trace = ['-f', '-qq', '-o', '/dev/null', '-e', `trace=${inject.split(':')[0]}`]
  const args = [...trace, '-e', `inject=${inject}`, process.execPath, child, file, `${sends}`]
  return JSON.parse(execFileSync('strace', args, { encoding: 'utf8' }))
}

describe.skipIf(!canInject)('a disk that fails to sync', () => {
  test.each([
    ['once', 'fsync,fdatasync:error=EIO:when=25'],
    ['again and again', 'fsync,fdatasync:error=EIO:when=20+7'],
    ['for want of space', 'fsync,fdatasync:error=ENOSPC:when=25'],
  ])('%s fails those sends with a typed error and loses no other', (_, inject) =>
    inTemporaryFolder('failing-sync', async (folder) => {
      const file = folder.file('store.db')
      const { acknowledged, failures } = sendWithFault(file, inject)
      assert.ok(failures.length > 0, 'no sync failed')
      assert.deepEqual([...new Set(failures)], ['store_failed'])
      assert.equal(acknowledged.length + failures.length, sends)

      const backend = await openSqlite({ file })
      const { items } = await backend.peek({ queue: 'q', state: 'ready', limit: 1_000 })
      const present = new Set(items.map(({ body }) => body))
      assert.deepEqual(
        acknowledged.filter((body) => !present.has(body)),
        [],
      )
      await backend.close()
      assertSoundStore(file)
    }),
  )
})
