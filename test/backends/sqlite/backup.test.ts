import assert from 'node:assert/strict'
import {
  closeSync,
  copyFileSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'vitest'
import type { Backend, BackupProgress } from '../../../src/backends/backend.ts'
import { restoreStore } from '../../../src/backends/sqlite/backup/backup.ts'
import { openSqlite } from '../../../src/backends/sqlite/index.ts'
import { systemPorts } from '../../../src/core/ports.ts'
import { assertSoundStore } from '../../support/store-inspection.ts'
import { inTemporaryFolder } from '../../support/temporary-folder.ts'

const { ids } = systemPorts
const body = 'b'.repeat(2_000)
const batch = Array.from({ length: 10 }, () => ({ body }))

interface Scene {
  readonly backend: Backend
  readonly file: string
  /** Where backups go. */
  readonly folder: string
  readonly target: string
}

async function onStore(run: (scene: Scene) => Promise<void>): Promise<void> {
  await inTemporaryFolder('backup', async (folder) => {
    const file = folder.file('store.db')
    const backend = await openSqlite({ file })
    await backend.createQueue({ queue: 'q' })
    await backend.createQueue({ queue: 'later' })
    for (let sent = 0; sent < 100; sent += 1) {
      await backend.send({ queue: 'q', messages: batch })
    }
    await run({ backend, file, folder: folder.path, target: folder.file('copy.db') })
    await backend.close()
  })
}

/** Files that a backup or a restore has left behind. */
function partial(folder: string): readonly string[] {
  return readdirSync(folder).filter((name) => name.includes('partial'))
}

describe('a backup', () => {
  test('is the store as it was, while others go on writing', () =>
    onStore(async ({ backend, target, folder }) => {
      const told: BackupProgress[] = []
      let isDone = false
      const taken = backend
        .backup({ file: target, onProgress: (progress) => told.push(progress) })
        .finally(() => {
          isDone = true
        })
      let sent = 0
      for (; !isDone; sent += 1) {
        await backend.send({ queue: 'later', messages: [{ body: String(sent) }] })
      }
      const report = await taken
      assert.deepEqual(report, { file: target, bytes: statSync(target).size })
      assert.equal(statSync(target).mode & 0o777, 0o600)
      assert.ok(told.length > 1)
      assert.deepEqual(told.at(-1), { bytes: report.bytes, totalBytes: report.bytes })
      assert.deepEqual(partial(folder), [])
      assert.ok(!existsSync(`${target}-wal`))

      assertSoundStore(target)
      const copy = await openSqlite({ file: target })
      assert.equal((await copy.queueStatistics({ queue: 'q' })).ready, 1_000)
      // One moment: what was sent up to then, and nothing after it.
      const { ready } = await copy.queueStatistics({ queue: 'later' })
      assert.ok(ready <= sent)
      const [first] = await copy.receive({ queue: 'q', max: 1 })
      assert.equal(first?.body, body)
      await copy.close()
      assert.equal((await backend.queueStatistics({ queue: 'later' })).ready, sent)
    }))

  test('does not overwrite a file', () =>
    onStore(async ({ backend, target, folder }) => {
      writeFileSync(target, 'precious')
      await assert.rejects(backend.backup({ file: target }), { code: 'file_exists' })
      assert.equal(readFileSync(target, 'utf8'), 'precious')
      assert.deepEqual(partial(folder), [])
    }))

  test('does not overwrite a file that appears while it is made', () =>
    onStore(async ({ backend, target, folder }) => {
      const onProgress = (): void => writeFileSync(target, 'precious')
      await assert.rejects(backend.backup({ file: target, onProgress }), { code: 'file_exists' })
      assert.equal(readFileSync(target, 'utf8'), 'precious')
      assert.deepEqual(partial(folder), [])
    }))

  test('leaves nothing behind when it is aborted', () =>
    onStore(async ({ backend, target, folder }) => {
      const abort = new AbortController()
      const taken = backend.backup({
        file: target,
        signal: abort.signal,
        onProgress: () => abort.abort(),
      })
      const message = `Aborted: ${target} was not written.`
      await assert.rejects(taken, { code: 'aborted', message })
      assert.ok(!existsSync(target))
      assert.deepEqual(partial(folder), [])
    }))

  test('is refused where it cannot be written', () =>
    onStore(async ({ backend, folder }) => {
      const file = `${folder}/missing/copy.db`
      await assert.rejects(backend.backup({ file }), {
        code: 'backup_failed',
        message: `Cannot write ${file}: the folder ${folder}/missing does not exist.`,
      })
      const within = `${folder}/store.db/copy.db`
      await assert.rejects(backend.backup({ file: within }), {
        code: 'backup_failed',
        message: `Cannot write ${within}: ${folder}/store.db is not a folder.`,
      })
      const long = `${folder}/${'n'.repeat(300)}.db`
      await assert.rejects(backend.backup({ file: long }), {
        code: 'backup_failed',
        message: `Cannot write ${long}: ENAMETOOLONG: name too long.`,
      })
      await assert.rejects(backend.backup({ file: '' }), { code: 'invalid_argument' })
    }))

  test('of a damaged store is refused', () =>
    onStore(async ({ backend, file, target, folder }) => {
      await backend.close()
      const descriptor = openSync(file, 'r+')
      // A page in the middle, which nothing reads when the store is opened.
      const page = Math.floor(statSync(file).size / 4_096 / 2)
      writeSync(descriptor, Buffer.alloc(4_096, 0xff), 0, 4_096, page * 4_096)
      closeSync(descriptor)
      const damaged = await openSqlite({ file })
      await assert.rejects(damaged.backup({ file: target }), { code: 'store_corrupt' })
      assert.ok(!existsSync(target))
      assert.deepEqual(partial(folder), [])
      await damaged.close()
    }))
})

describe('restoring', () => {
  test('makes a store of a backup, and leaves the backup as it is', () =>
    onStore(async ({ backend, target, folder }) => {
      await backend.backup({ file: target })
      const before = readFileSync(target)
      const to = `${folder}/restored.db`
      const report = await restoreStore({ from: target, to, ids })
      assert.deepEqual(report, { file: to, bytes: before.length })
      assert.deepEqual(readFileSync(target), before)
      const restored = await openSqlite({ file: to })
      assert.equal((await restored.queueStatistics({ queue: 'q' })).ready, 1_000)
      await restored.close()
      assert.deepEqual(partial(folder), [])
    }))

  test('takes the log of a store that was copied without being closed', () =>
    onStore(async ({ backend, file, folder }) => {
      await backend.send({ queue: 'later', messages: batch })
      copyFileSync(file, `${folder}/raw.db`)
      copyFileSync(`${file}-wal`, `${folder}/raw.db-wal`)
      const to = `${folder}/restored.db`
      await restoreStore({ from: `${folder}/raw.db`, to, ids })
      const restored = await openSqlite({ file: to })
      assert.equal((await restored.queueStatistics({ queue: 'later' })).ready, batch.length)
      await restored.close()
    }))

  test('does not overwrite a store, nor join the log of another one', () =>
    onStore(async ({ backend, file, target, folder }) => {
      await backend.backup({ file: target })
      await assert.rejects(restoreStore({ from: target, to: file, ids }), { code: 'file_exists' })
      writeFileSync(`${folder}/other.db-wal`, 'of another store')
      const to = `${folder}/other.db`
      await assert.rejects(restoreStore({ from: target, to, ids }), {
        code: 'file_exists',
        message: /other\.db-wal exists/,
      })
      assert.ok(!existsSync(to))
    }))

  test('leaves nothing behind when it is aborted', () =>
    onStore(async ({ backend, target, folder }) => {
      await backend.backup({ file: target })
      const to = `${folder}/restored.db`
      const abort = new AbortController()
      const told: BackupProgress[] = []
      const onProgress = (progress: BackupProgress): void => {
        told.push(progress)
        abort.abort()
      }
      await assert.rejects(
        restoreStore({ from: target, to, ids, signal: abort.signal, onProgress }),
        {
          code: 'aborted',
          message: `Aborted: ${to} was not written.`,
        },
      )
      assert.equal(told.length, 1, 'it went on')
      assert.ok(!existsSync(to))
      assert.deepEqual(partial(folder), [])
    }))

  test('tells how far it is', () =>
    onStore(async ({ backend, target, folder }) => {
      const { bytes: totalBytes } = await backend.backup({ file: target })
      const told: BackupProgress[] = []
      const onProgress = (progress: BackupProgress): void => void told.push(progress)
      await restoreStore({ from: target, to: `${folder}/restored.db`, ids, onProgress })
      assert.ok(told.length > 1)
      assert.deepEqual(told.at(-1), { bytes: totalBytes, totalBytes })
    }))

  test.each([
    ['is not there', 'missing.db', 'it does not exist'],
    ['is a folder', '.', 'it is a folder'],
    ['is within a file', 'store.db/copy.db', 'it does not exist'],
  ])('says so when the backup %s', (_, name, reason) =>
    onStore(async ({ folder }) => {
      const from = `${folder}/${name}`
      await assert.rejects(restoreStore({ from, to: `${folder}/restored.db`, ids }), {
        code: 'store_unusable',
        message: `Cannot read ${from}: ${reason}.`,
      })
      assert.deepEqual(partial(folder), [])
    }),
  )

  test('calls a damaged backup by its name', () =>
    onStore(async ({ backend, target, folder }) => {
      await backend.backup({ file: target })
      const whole = readFileSync(target)
      const to = `${folder}/restored.db`
      for (const at of [100, whole.length / 2]) {
        const damaged = Buffer.from(whole)
        damaged.fill(0xff, at, at + 4_096)
        writeFileSync(target, damaged)
        await assert.rejects(restoreStore({ from: target, to, ids }), (error: Error) => {
          assert.ok(error.message.startsWith(`The backup ${target} is damaged. Use another one.`))
          assert.doesNotMatch(error.message, /store file|move/)
          return true
        })
      }
    }))

  test.each([
    ['a text', 'store_foreign', (file: string) => writeFileSync(file, 'no store\n'.repeat(100))],
    ['an empty file', 'store_foreign', (file: string) => writeFileSync(file, '')],
    ['nothing', 'store_unusable', () => undefined],
    [
      'the database of another program',
      'store_foreign',
      (file: string) => {
        const db = new DatabaseSync(file)
        db.exec('CREATE TABLE customer (name TEXT)')
        db.close()
      },
    ],
    ['half a backup', 'store_corrupt', (file: string) => truncateSync(file, 200_000)],
  ] as const)('refuses %s', (_, code, change) =>
    onStore(async ({ backend, target, folder }) => {
      if (code === 'store_corrupt') await backend.backup({ file: target })
      change(target)
      const to = `${folder}/restored.db`
      await assert.rejects(restoreStore({ from: target, to, ids }), {
        code,
        message: /copy\.db/,
      })
      assert.ok(!existsSync(to))
      assert.deepEqual(partial(folder), [])
    }),
  )
})
