import assert from 'node:assert/strict'
import { describe, onTestFinished, test } from 'vitest'
import { temporaryFolder } from '../../test/support/temporary-folder.ts'
import type { Backend } from '../backends/backend.ts'
import { openSqlite } from '../backends/sqlite/index.ts'
import { LeaseClient, type LeaseReference } from './lease-client.ts'

async function leasedOne(): Promise<{
  backend: Backend
  client: LeaseClient
  lease: LeaseReference
}> {
  const folder = await temporaryFolder('lease-client')
  const backend = await openSqlite({ file: folder.file('store.db') })
  onTestFinished(async () => {
    await backend.close()
    await folder.remove()
  })
  await backend.createQueue({ queue: 'q' })
  await backend.send({ queue: 'q', messages: [{ body: 'work' }] })
  const [delivery] = await backend.receive({ queue: 'q', max: 1 })
  assert.ok(delivery !== undefined)
  return {
    backend,
    client: new LeaseClient(backend),
    lease: { queue: 'q', receipt: delivery.receipt },
  }
}

const job = { type: 'OCR', payload: '1', maxAttempts: 1 }

describe('settling at the client', () => {
  test('answers what came to exist with the settlement', async () => {
    const { backend, client, lease } = await leasedOne()
    const settled = await client.settle(
      lease,
      { kind: 'acknowledge' },
      { emits: [{ queue: 'q', message: { body: 'next' } }], jobs: [{ queue: 'q', job }] },
    )
    assert.ok(settled.status === 'settled')
    assert.deepEqual([settled.emitted.length, settled.enqueued.length], [1, 1])
    assert.equal((await backend.queueStatistics({ queue: 'q' })).ready, 2)
  })

  test('answers a lost lease, and throws what could never succeed', async () => {
    const { client, lease } = await leasedOne()
    const jobs = [{ queue: 'nowhere', job }]
    await assert.rejects(client.settle(lease, { kind: 'acknowledge' }, { jobs }), {
      code: 'queue_not_found',
    })
    assert.equal((await client.settle(lease, { kind: 'acknowledge' })).status, 'settled')
    assert.deepEqual(await client.settle(lease, { kind: 'acknowledge' }), { status: 'gone' })
    assert.deepEqual(await client.extend(lease, 1_000), { status: 'gone' })
  })
})
