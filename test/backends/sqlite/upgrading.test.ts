/** A store that a program with the fourth schema left behind, with messages in every state. */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { describe, onTestFinished, test } from 'vitest'
import type { Backend, Outcome } from '../../../src/backends/backend.ts'
import { openSqlite } from '../../../src/backends/sqlite/index.ts'
import { type VirtualClock, virtualPorts } from '../../../src/testing/virtual-clock.ts'
import { assertSoundStore } from '../../support/store-inspection.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { formerReceipt, writeOldStore } from './old-store.ts'

const second = 1_000
const acknowledge = { kind: 'acknowledge' } as const

/** By queue and body, the receipts that were given out before the upgrade. */
const receipts = {
  l4: formerReceipt({ queueId: 2, sequence: 5, token: 1_099_511_627_781 }),
  l5: formerReceipt({ queueId: 2, sequence: 6, token: 1_099_511_627_782 }),
  a1: formerReceipt({ queueId: 4, sequence: 11, token: 1_099_511_627_784 }),
  a2: formerReceipt({ queueId: 4, sequence: 12, token: 1_099_511_627_785 }),
  x0: formerReceipt({ queueId: 5, sequence: 20, token: 1_099_511_627_788 }),
} as const

class UpgradedStore {
  readonly file: string
  readonly backend: Backend
  readonly clock: VirtualClock

  constructor(file: string, backend: Backend, clock: VirtualClock) {
    this.file = file
    this.backend = backend
    this.clock = clock
  }

  async receive(queue: string): Promise<readonly string[]> {
    const deliveries = await this.backend.receive({ queue, max: 10, visibilityMs: 600 * second })
    return deliveries.map(({ body }) => body.slice(0, 5))
  }

  async settle(queue: string, receipt: string, outcome: Outcome): Promise<void> {
    const settlements = [{ receipt, outcome }]
    const [result] = await this.backend.settle({ queue, settlements })
    assert.equal(result?.status, 'settled')
  }

  async closeAndInspect(): Promise<void> {
    await this.backend.close()
    assertSoundStore(this.file)
  }
}

async function upgradedStore(): Promise<UpgradedStore> {
  const folder = await temporaryFolder('upgrading')
  onTestFinished(() => folder.remove())
  const file = folder.file('millrace.db')
  writeOldStore(file, 4)
  const ports = virtualPorts()
  await ports.clock.advance(6 * second)
  return new UpgradedStore(file, await openSqlite({ file, ports }), ports.clock)
}

describe('a store of the fourth schema', () => {
  test('is sound as soon as it was opened', async () => {
    await (await upgradedStore()).closeAndInspect()
  })

  test('has minutes from now on, without what was counted before', async () => {
    const { backend, clock } = await upgradedStore()
    const { metrics } = backend
    assert.ok(metrics !== null)
    const { totals } = await backend.queueStatistics({ queue: 'work' })
    assert.ok(totals.sent > 0)
    await backend.send({ queue: 'work', messages: [{ body: 'new' }] })
    await clock.advance(60 * second)
    await metrics.sample()
    const [first] = await metrics.minutes({ queue: 'work', from: 0, to: Date.UTC(2100, 0) })
    assert.equal(first?.sent, 1)
    await backend.close()
  })

  test('gives out what is ready, and takes the receipts that it gave out before', async () => {
    const store = await upgradedStore()
    assert.deepEqual(await store.receive('work'), ['l3', 'l6', 'alone', 'large'])
    await store.settle('work', receipts.l4, acknowledge)
    await store.settle('work', receipts.l5, { kind: 'retry', delayMs: 0 })
    assert.deepEqual(await store.receive('work'), ['l5'])
    await store.clock.advance(54 * second)
    assert.deepEqual(await store.receive('work'), ['l1'])
    await store.clock.advance(30 * second)
    assert.deepEqual(await store.receive('work'), ['later'])
    assert.deepEqual(await store.receive('dead'), ['l2'])
    await store.closeAndInspect()
  })

  test('keeps FIFO groups locked that were, and opens them in order', async () => {
    const store = await upgradedStore()
    const { backend } = store
    const request = { queue: 'orders.fifo', max: 10, attemptId: 'again' }
    const again = await backend.receive({ ...request, visibilityMs: 600 * second })
    assert.deepEqual(
      again.map(({ receipt }) => receipt),
      [receipts.a1, receipts.a2],
    )
    assert.deepEqual(await store.receive('orders.fifo'), ['c1', 'c2', 'd1'])
    await store.settle('orders.fifo', receipts.a1, acknowledge)
    assert.deepEqual(await store.receive('orders.fifo'), [])
    await store.settle('orders.fifo', receipts.a2, { kind: 'release' })
    assert.deepEqual(await store.receive('orders.fifo'), ['a2', 'a3'])
    const message = { body: 'b3', group: 'b', deduplicationId: 'b3' }
    await backend.send({ queue: 'orders.fifo', messages: [message] })
    assert.deepEqual(await store.receive('orders.fifo'), [])
    await store.clock.advance(54 * second)
    assert.deepEqual(await store.receive('orders.fifo'), ['b2', 'b3'])
    assert.deepEqual(await store.receive('dead.fifo'), ['b1'])
    await store.closeAndInspect()
  })

  test('remembers which ids are duplicates', async () => {
    const { backend } = await upgradedStore()
    const message = { body: 'again', group: 'z', deduplicationId: 'a1' }
    const [sent] = await backend.send({ queue: 'orders.fifo', messages: [message] })
    assert.equal(sent?.status, 'duplicate')
    await backend.close()
  })

  test('keeps to the ceilings of tenants whose jobs were running', async () => {
    const store = await upgradedStore()
    assert.deepEqual(await store.receive('capped'), [])
    await store.settle('capped', receipts.x0, acknowledge)
    assert.deepEqual(await store.receive('capped'), ['1'])
    await store.closeAndInspect()
  })

  test('moves dead letters back, and lets go of what was purged', async () => {
    const store = await upgradedStore()
    const { backend } = store
    for (const source of ['dead', 'dead.fifo']) await backend.startMoveTask({ source })
    while ((await backend.sweep()).more);
    assert.deepEqual(await store.receive('work'), ['l3', 'l6', 'alone', 'large', 'l2'])
    // The one that waits for its retry is still before it.
    assert.deepEqual(await store.receive('orders.fifo'), ['c1', 'c2', 'd1'])
    await store.clock.advance(54 * second)
    assert.deepEqual(await store.receive('orders.fifo'), ['b2', 'b1'])
    await store.closeAndInspect()
    const db = new DatabaseSync(store.file, { readOnly: true })
    const stray = 'SELECT body FROM message WHERE generation NOT IN (SELECT generation FROM queue)'
    assert.deepEqual(db.prepare(stray).all(), [])
    db.close()
  })
})
