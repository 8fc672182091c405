import assert from 'node:assert/strict'
import { copyFileSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'vitest'
import type { Backend } from '../../../src/backends/backend.ts'
import { openSqlite } from '../../../src/backends/sqlite/index.ts'
import { type VirtualClock, virtualPorts } from '../../../src/testing/virtual-clock.ts'
import { inTemporaryFolder } from '../../support/temporary-folder.ts'

const replaced = { code: 'store_replaced', retryable: false }

interface Scene {
  readonly backend: Backend
  readonly clock: VirtualClock
  readonly folder: string
  readonly file: string
}

/** Makes a store in a folder of its own, with messages in it. */
async function onStore(run: (scene: Scene) => Promise<void>): Promise<void> {
  await inTemporaryFolder('replaced', async (temporary) => {
    const folder = temporary.file('data')
    mkdirSync(folder)
    const file = `${folder}/store.db`
    const ports = virtualPorts()
    const backend = await openSqlite({ file, ports })
    await sendMany(backend)
    await run({ backend, clock: ports.clock, folder, file })
    await backend.close()
  })
}

async function sendMany(backend: Backend): Promise<void> {
  const messages = Array.from({ length: 10 }, () => ({ body: 'b'.repeat(10_000) }))
  await backend.createQueue({ queue: 'q' })
  for (let batch = 0; batch < 10; batch += 1) await backend.send({ queue: 'q', messages })
}

/** Sends every 100 ms for as long as the store takes it, and at most for a second. */
async function sendUntilRefused({ backend, clock }: Scene): Promise<void> {
  await assert.rejects(async () => {
    for (let sent = 0; sent < 10; sent += 1) {
      await backend.send({ queue: 'q', messages: [{ body: 'late' }] })
      await clock.advance(100)
    }
  }, replaced)
}

/** Moves everything into the file, as another connection does it. */
function checkpoint(file: string, before = ''): void {
  const other = new DatabaseSync(file)
  other.exec(`${before}; PRAGMA wal_checkpoint(TRUNCATE)`)
  other.close()
}

const changes: Readonly<Record<string, (folder: string, file: string) => void>> = {
  'its folder is removed': (folder) => rmSync(folder, { recursive: true }),
  'its folder is moved': (folder) => renameSync(folder, `${folder}-moved`),
  'its file is removed': (_, file) => rmSync(file),
  'its log is removed': (_, file) => rmSync(`${file}-wal`),
  'its index is removed': (_, file) => rmSync(`${file}-shm`),
  'another file takes its place': (_, file) => {
    copyFileSync(file, `${file}-copy`)
    renameSync(`${file}-copy`, file)
  },
  'a text is copied over it': (_, file) => writeFileSync(file, 'not a store'),
  'a database of another program is copied over it': (folder, file) => {
    const other = new DatabaseSync(`${folder}-foreign`)
    other.exec('CREATE TABLE customer (name TEXT)')
    other.close()
    copyFileSync(`${folder}-foreign`, file)
  },
  'an older copy of it is copied over it': (folder, file) => copyFileSync(`${folder}-old`, file),
  'another store is copied over it': (folder, file) => copyFileSync(`${folder}-other`, file),
}

describe('an open store', () => {
  test.each(Object.keys(changes))('stops within a second when %s', (name) =>
    onStore(async (scene) => {
      const { backend, clock, folder, file } = scene
      await backend.backup({ file: `${folder}-old` })
      const other = await openSqlite({ file: `${folder}-other` })
      await sendMany(other)
      await other.close()
      await sendMany(backend)
      checkpoint(file)
      await clock.advance(300)
      await backend.send({ queue: 'q', messages: [{ body: 'before' }] })
      changes[name]?.(folder, file)
      await sendUntilRefused(scene)
      await assert.rejects(backend.receive({ queue: 'q', max: 1 }), replaced)
      await assert.rejects(backend.receive({ queue: 'q', max: 1, waitMs: 1_000 }), replaced)
      await assert.rejects(backend.readQueue({ queue: 'q' }), replaced)
      await assert.rejects(backend.sweep(), replaced)
      await assert.rejects(backend.check(), replaced)
      await backend.whenReady({ queue: 'q', signal: new AbortController().signal })
    }),
  )

  test('ends waiting receives with the error', () =>
    onStore(async ({ backend, clock, folder }) => {
      await backend.createQueue({ queue: 'empty' })
      const waiting = backend.receive({ queue: 'empty', max: 1, waitMs: 20_000 })
      const watched = backend.whenReady({
        queue: 'empty',
        signal: new AbortController().signal,
      })
      await backend.sweep()
      rmSync(folder, { recursive: true })
      const ended = assert.rejects(waiting, replaced)
      await clock.advance(1_000)
      await ended
      await watched
    }))

  test.each(['receive', 'whenReady'] as const)('ends a %s that is the first to notice', (call) =>
    onStore(async ({ backend, clock, folder }) => {
      await backend.createQueue({ queue: 'empty' })
      await backend.sweep()
      rmSync(folder, { recursive: true })
      await clock.advance(300)
      const { signal } = new AbortController()
      if (call === 'whenReady') await backend.whenReady({ queue: 'empty', signal })
      const waiting = backend.receive({ queue: 'empty', max: 1, waitMs: 20_000 })
      await assert.rejects(waiting, replaced)
    }),
  )

  test.each(['an older copy of it', 'a smaller store'])(
    'stops within a second when it is idle with an empty log and %s is copied over it',
    (what) =>
      onStore(async ({ backend, clock, folder, file }) => {
        await backend.createQueue({ queue: 'empty' })
        await backend.backup({ file: `${folder}-old` })
        await sendMany(backend)
        await backend.close()
        const small = await openSqlite({ file: `${folder}-small` })
        await small.createQueue({ queue: 'q' })
        await small.close()

        const idle = await openSqlite({ file, ports: { ...virtualPorts(), clock, timers: clock } })
        const waiting = idle.receive({ queue: 'empty', max: 1, waitMs: 20_000 })
        await clock.advance(500)
        copyFileSync(`${folder}-${what === 'a smaller store' ? 'small' : 'old'}`, file)
        const ended = assert.rejects(waiting, replaced)
        await clock.advance(1_000)
        await ended
        await idle.close()
      }),
  )

  test('leaves the files alone that took the place of its own', () =>
    onStore(async (scene) => {
      const { backend, folder, file } = scene
      renameSync(folder, `${folder}-moved`)
      mkdirSync(folder)
      const next = await openSqlite({ file })
      await next.createQueue({ queue: 'next' })
      await sendUntilRefused(scene)
      await backend.close()
      await next.send({ queue: 'next', messages: [{ body: 'kept' }] })
      await next.close()
      const again = await openSqlite({ file })
      assert.equal((await again.receive({ queue: 'next', max: 1 })).length, 1)
      await again.close()
    }))

  test('goes on after another connection has made the file shorter', () =>
    onStore(async ({ backend, clock, file }) => {
      await backend.purgeQueue({ queue: 'q' })
      while ((await backend.sweep()).more);
      checkpoint(file)
      // Looks at the file while it is long.
      await clock.advance(300)
      await backend.check()
      checkpoint(file, 'VACUUM')
      await clock.advance(300)
      await backend.check()
    }))
})
