import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { describe, test } from 'vitest'
import type { Backend } from '../../src/backends/backend.ts'
import { openSqlite } from '../../src/backends/sqlite/index.ts'
import { MillraceError } from '../../src/core/millrace-error.ts'
import { canMount, withMounted } from '../support/mounting.ts'
import { assertSoundStore } from '../support/store-inspection.ts'
import { inTemporaryFolder } from '../support/temporary-folder.ts'

/** Runs on a disk of a few megabytes. */
function onSmallDisk(run: (disk: string) => Promise<void>): Promise<void> {
  return inTemporaryFolder('full-disk', (folder) =>
    withMounted(['-t', 'tmpfs', '-o', 'size=6m', 'tmpfs'], folder.file('disk'), run),
  )
}

const batch = Array.from({ length: 10 }, () => ({ body: 'b'.repeat(1_000) }))

/** Sends batches of ten until the disk is full; the answer is how many batches were acknowledged. */
async function fillUp(backend: Backend): Promise<number> {
  for (let acknowledged = 0; ; acknowledged += 1) {
    try {
      await backend.send({ queue: 'q', messages: batch })
    } catch (error) {
      assert.ok(error instanceof MillraceError)
      assert.equal(error.code, 'store_full')
      return acknowledged
    }
  }
}

describe.skipIf(!canMount)('a full disk', () => {
  test('refuses with a typed error, keeps every acknowledged batch whole, and works again', () =>
    onSmallDisk(async (disk) => {
      const file = `${disk}/store.db`
      const ballast = `${disk}/ballast`
      writeFileSync(ballast, Buffer.alloc(2 * 2 ** 20))
      const backend = await openSqlite({ file })
      await backend.createQueue({ queue: 'q' })

      const acknowledged = await fillUp(backend)
      assert.ok(acknowledged > 10)
      await assert.rejects(backend.send({ queue: 'q', messages: batch }), { code: 'store_full' })
      assert.equal((await backend.queueStatistics({ queue: 'q' })).ready, acknowledged * 10)

      rmSync(ballast)
      const more = await fillUp(backend)
      assert.ok(more > 0, 'the freed space was not used')
      const expected = (acknowledged + more) * 10
      assert.equal((await backend.queueStatistics({ queue: 'q' })).ready, expected)
      await backend.close()
      assertSoundStore(file)
    }))
})
