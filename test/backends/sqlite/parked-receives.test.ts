import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { onTestFinished, test } from 'vitest'
import { openSqlite } from '../../../src/backends/sqlite/index.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

test('a receive takes nothing of a queue that another connection put in the place of its own', async () => {
  const folder = await temporaryFolder('waiting')
  const file = folder.file('store.db')
  const one = await openSqlite({ file })
  const other = await openSqlite({ file })
  onTestFinished(async () => {
    await one.close()
    await other.close()
    await folder.remove()
  })
  await one.createQueue({ queue: 'q' })
  const controller = new AbortController()
  const ready = one.whenReady({ queue: 'q', signal: controller.signal })
  const old = one.receive({ queue: 'q', max: 1, waitMs: 20_000 })
  const refused = assert.rejects(old, { code: 'queue_not_found' })
  await Promise.all([
    other.deleteQueue({ queue: 'q' }),
    other.createQueue({ queue: 'q' }),
    other.send({ queue: 'q', messages: [{ body: 'of the successor' }] }),
  ])
  await refused
  await ready
  const [delivery] = await one.receive({ queue: 'q', max: 1, waitMs: 20_000 })
  assert.deepEqual([delivery?.body, delivery?.receiveCount], ['of the successor', 1])
})

test('a receive is served although the first try to serve it failed', async () => {
  const folder = await temporaryFolder('waiting')
  const file = folder.file('store.db')
  const one = await openSqlite({ file, busyTimeoutMs: 50 })
  const other = await openSqlite({ file })
  const intruder = new DatabaseSync(file)
  onTestFinished(async () => {
    intruder.close()
    await one.close()
    await other.close()
    await folder.remove()
  })
  await one.createQueue({ queue: 'q' })
  const waiting = one.receive({ queue: 'q', max: 1, waitMs: 20_000 })
  await other.send({ queue: 'q', messages: [{ body: 'ready' }] })
  // The waiting receive is woken, and cannot begin a transaction.
  intruder.exec('BEGIN IMMEDIATE')
  await assert.rejects(one.purgeQueue({ queue: 'q' }), { code: 'store_busy' })
  intruder.exec('ROLLBACK')
  assert.deepEqual(
    (await waiting).map(({ body }) => body),
    ['ready'],
  )
})
