import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { describe, onTestFinished, test } from 'vitest'
import type { NewMessage } from '../../../src/backends/backend.ts'
import {
  memoryFile,
  openRecordingSqlite,
  openSqlite,
  type RecordingStore,
} from '../../../src/backends/sqlite/index.ts'
import { type VirtualPorts, virtualPorts } from '../../../src/testing/virtual-clock.ts'
import { inTemporaryFolder } from '../../support/temporary-folder.ts'

async function openStore(
  ports: VirtualPorts = virtualPorts(),
  file = memoryFile,
): Promise<RecordingStore> {
  const store = await openRecordingSqlite({ file, ports })
  onTestFinished(() => store.backend.close())
  await store.backend.createQueue({ queue: 'q' })
  return store
}

const send = ({ backend }: RecordingStore, ...messages: readonly NewMessage[]): Promise<unknown> =>
  backend.send({ queue: 'q', messages })

describe('a store in memory', () => {
  test('gives the same ids to the same messages, for the same seed', async () => {
    const idsFor = async (seed: number): Promise<readonly string[]> => {
      const store = await openStore(virtualPorts(seed))
      await send(store, { body: '1' }, { body: '2' })
      return (await store.sentMessages({ queue: 'q' })).map(({ id }) => id)
    }
    assert.deepEqual(await idsFor(1), await idsFor(1))
    assert.notDeepEqual(await idsFor(1), await idsFor(2))
  })

  test('is a store of its own each time, and leaves no timer', async () => {
    const ports = virtualPorts()
    const [one, other] = [await openStore(ports), await openStore(ports)]
    await send(one, { body: '1' })
    assert.equal((await other.backend.queueStatistics({ queue: 'q' })).ready, 0)
    await one.backend.close()
    await other.backend.close()
    assert.equal(ports.clock.pendingTimers, 0)
  })

  test('has no second thread, no backup, and takes no part in the transaction of a caller', async () => {
    const backend = await openSqlite({ file: memoryFile })
    onTestFinished(() => backend.close())
    assert.equal(backend.otherThread, null)
    await assert.rejects(backend.backup({ file: '/nowhere/copy.db' }), { code: 'unsupported' })
    using own = new DatabaseSync(':memory:')
    own.exec('BEGIN')
    const job = { type: 'OCR', payload: '1', maxAttempts: 1 }
    await backend.createQueue({ queue: 'q' })
    assert.throws(
      () => backend.jobs?.enqueueWithin({ transaction: own, queue: 'q', jobs: [job] }),
      /got a connection to no file, expected none: the store is in memory/,
    )
  })
})

describe('the recorded messages of a store', () => {
  test('are all that were sent, in order, also those that are gone', async () => {
    const store = await openStore()
    await send(store, { body: '1' }, { body: '"x"', delayMs: 60_000, group: 't1' })
    const [first] = await store.backend.receive({ queue: 'q', max: 1 })
    const receipt = first?.receipt ?? assert.fail('nothing was received')
    const attributes = { unit: { type: 'String', value: 'cm' } }
    const emits = [{ queue: 'q', message: { body: '3', attributes } }]
    const outcome = { kind: 'acknowledge' } as const
    await store.backend.settle({ queue: 'q', settlements: [{ receipt, outcome, emits }] })
    const sent = await store.sentMessages({ queue: 'q' })
    const start = virtualPorts().clock.now()
    assert.deepEqual(
      sent.map(({ body, group, readyAt, attributes: own }) => [body, group, readyAt - start, own]),
      [
        ['1', null, 0, {}],
        ['"x"', 't1', 60_000, {}],
        ['3', null, 0, attributes],
      ],
    )
  })

  test('have their body, however large it is', async () => {
    const store = await openStore()
    const body = JSON.stringify('x'.repeat(5_000))
    await send(store, { body })
    assert.deepEqual(
      (await store.sentMessages({ queue: 'q' })).map((one) => one.body),
      [body],
    )
  })

  test('leave out jobs, and messages whose transaction failed', async () => {
    const store = await openStore()
    await store.backend.jobs?.enqueue({
      queue: 'q',
      jobs: [{ type: 'OCR', payload: '1', maxAttempts: 1 }],
    })
    const messages = [{ body: '1' }, { body: '2', delayMs: -1 }]
    await assert.rejects(store.backend.send({ queue: 'q', messages, allOrNothing: true }))
    assert.deepEqual(await store.sentMessages({ queue: 'q' }), [])
  })

  test('stay in a file that is opened again', () =>
    inTemporaryFolder('recorded', async (folder) => {
      const file = folder.file('store.db')
      const store = await openStore(virtualPorts(), file)
      await send(store, { body: '1' })
      await store.backend.close()
      const again = await openStore(virtualPorts(), file)
      await send(again, { body: '2' })
      const bodies = (await again.sentMessages({ queue: 'q' })).map(({ body }) => body)
      assert.deepEqual(bodies, ['1', '2'])
    }))
})
