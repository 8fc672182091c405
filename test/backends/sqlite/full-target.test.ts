/** Copies of a store onto a disk that is too small for them. */
import assert from 'node:assert/strict'
import { copyFileSync, readdirSync } from 'node:fs'
import { describe, test } from 'vitest'
import type { Backend } from '../../../src/backends/backend.ts'
import { restoreStore } from '../../../src/backends/sqlite/backup/backup.ts'
import { openSqlite } from '../../../src/backends/sqlite/index.ts'
import { systemPorts } from '../../../src/core/ports.ts'
import { canMount } from '../../support/mounting.ts'
import { fillWithBallast, onSmallDisk } from '../../support/small-disk.ts'

const { ids } = systemPorts

async function openLarge(file: string): Promise<Backend> {
  const backend = await openSqlite({ file })
  await backend.createQueue({ queue: 'q' })
  const messages = Array.from({ length: 10 }, () => ({ body: 'b'.repeat(100_000) }))
  for (let sent = 0; sent < 3; sent += 1) await backend.send({ queue: 'q', messages })
  return backend
}

function refusalOn(disk: string): { readonly code: string; readonly message: string } {
  const message = `Cannot write ${disk}/copy.db: the disk of ${disk} is full.`
  return { code: 'backup_failed', message }
}

describe.skipIf(!canMount)('a target on a full disk', () => {
  test.each(['1m', '2m'])('of %s fails a backup by its own name', (size) =>
    onSmallDisk(async (disk, folder) => {
      const backend = await openLarge(`${folder}/store.db`)
      await assert.rejects(backend.backup({ file: `${disk}/copy.db` }), refusalOn(disk))
      assert.deepEqual(readdirSync(disk), [])
      fillWithBallast(disk)
      await assert.rejects(backend.backup({ file: `${disk}/copy.db` }), refusalOn(disk))
      assert.deepEqual(readdirSync(disk), ['ballast'])
      await backend.close()
    }, size),
  )

  test('fails a restore by its own name', () =>
    onSmallDisk(async (disk, folder) => {
      const backend = await openLarge(`${folder}/store.db`)
      await backend.backup({ file: `${folder}/backup.db` })
      const restore = { from: `${folder}/backup.db`, to: `${disk}/copy.db`, ids }
      await assert.rejects(restoreStore(restore), refusalOn(disk))
      assert.deepEqual(readdirSync(disk), [])
      await backend.close()
    }, '2m'))

  test('fails the restore of a log that fits beside the store, but not into it', () =>
    onSmallDisk(async (disk, folder) => {
      const backend = await openLarge(`${folder}/store.db`)
      copyFileSync(`${folder}/store.db`, `${folder}/raw.db`)
      copyFileSync(`${folder}/store.db-wal`, `${folder}/raw.db-wal`)
      const restore = { from: `${folder}/raw.db`, to: `${disk}/copy.db`, ids }
      await assert.rejects(restoreStore(restore), refusalOn(disk))
      assert.deepEqual(readdirSync(disk), [])
      await backend.close()
    }, '4m'))
})
