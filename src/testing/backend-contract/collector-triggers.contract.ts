/** Triggers are messages that a caller may purge, dead-letter or redrive; no key may be stranded by it. */
import assert from 'node:assert/strict'
import type { AddedItem, CollectorKey } from '../../backends/collector-store.ts'
import {
  assertNothingLeft,
  beginBatch,
  begunBatch,
  collect,
  collector,
  collectorsOf,
  endBatch,
  idsOf,
  itemsRequest,
  leaseMs,
  merged,
  mergeNext,
  openCollector,
  readKey,
  receiveTrigger,
  triggerBody,
  triggers,
  windowMs,
} from './collector-scene.ts'
import { day, minute, type Scene, second } from './scene.ts'
import type { ContractSuite } from './suite.ts'

export function describeCollectorTriggers(all: ContractSuite): void {
  const suite = all.needing('collectors')
  suite.describe('triggers of collectors', () => {
    describeLostTriggers(suite)
    describeDeadTriggers(suite)
  })
}

const deadTriggers = `${triggers}-dead`

async function repair(
  scene: Scene,
  overdueMs: number = minute,
): Promise<{ readonly repaired: string[]; readonly stuck: string[] }> {
  const { repaired, stuck } = await collectorsOf(scene).repair({ overdueMs, limit: 100 })
  const keysOf = (found: readonly CollectorKey[]): string[] => found.map(({ key }) => key)
  return { repaired: keysOf(repaired), stuck: keysOf(stuck) }
}

const fine = { repaired: [], stuck: [] }

function describeLostTriggers(suite: ContractSuite): void {
  suite.test(
    'a key whose trigger was purged gets another one with its next item',
    async (scene) => {
      await openCollector(scene)
      await collect(scene, 'ann', ['a'])
      await scene.advance(second)
      await scene.backend.purgeQueue({ queue: triggers })
      assert.equal((await readKey(scene, 'ann'))?.trigger, 'none')
      await collect(scene, 'ann', ['b'])
      await scene.advance(windowMs - second)
      assert.equal(await mergeNext(scene), 'ab')
      await assertNothingLeft(scene, 'ann')
    },
  )

  suite.test('also with a duplicate', async (scene) => {
    await openCollector(scene)
    await collect(scene, 'ann', ['a'])
    await scene.backend.purgeQueue({ queue: triggers })
    await scene.advance(windowMs)
    await collectorsOf(scene).add(itemsRequest('ann', ['a']))
    assert.equal(await mergeNext(scene), 'a')
  })

  suite.test('a key that is overdue without a trigger is repaired, once', async (scene) => {
    await openCollector(scene)
    await collect(scene, 'ann', ['a'])
    await collect(scene, 'bob', ['b'])
    await scene.backend.purgeQueue({ queue: triggers })
    await scene.advance(windowMs + minute - 1)
    assert.deepEqual(await repair(scene), fine)
    await scene.advance(1)
    assert.deepEqual(await repair(scene), { repaired: ['ann', 'bob'], stuck: [] })
    await scene.advance(2 * minute)
    assert.deepEqual(await repair(scene), fine)
    assert.deepEqual([await mergeNext(scene), await mergeNext(scene)], ['a', 'b'])
    await assertNothingLeft(scene, 'ann')
  })

  suite.test('repair reaches the keys behind those with which all is well', async (scene) => {
    await openCollector(scene)
    for (const key of ['ann', 'bob']) await collect(scene, key, ['a'])
    await scene.advance(windowMs + minute)
    await scene.backend.purgeQueue({ queue: triggers })
    await collectorsOf(scene).flush({ collector, key: 'ann' })
    const one = () => collectorsOf(scene).repair({ overdueMs: minute, limit: 1 })
    assert.deepEqual(await one(), { repaired: [], stuck: [] })
    assert.deepEqual(await one(), { repaired: [{ collector, key: 'bob' }], stuck: [] })
  })

  suite.test('a trigger that expires is missed', async (scene) => {
    await openCollector(scene, { retentionMs: minute })
    await collect(scene, 'ann', ['a'])
    await scene.advance(minute + windowMs)
    assert.deepEqual(await scene.receive(triggers), [])
    assert.equal((await readKey(scene, 'ann'))?.trigger, 'none')
    assert.deepEqual(await repair(scene, 0), { repaired: ['ann'], stuck: [] })
    assert.equal(await mergeNext(scene), 'a')
  })

  suite.test('a trigger that was deleted without merging is missed', async (scene) => {
    await openCollector(scene)
    await collect(scene, 'ann', ['a'])
    await scene.advance(windowMs)
    const { receipt } = await receiveTrigger(scene)
    await scene.acknowledge(triggers, receipt)
    assert.deepEqual(await repair(scene, 0), { repaired: ['ann'], stuck: [] })
    assert.equal(await mergeNext(scene), 'a')
  })

  suite.test(
    'a purge under a running batch loses nothing and merges nothing twice',
    async (scene) => {
      await openCollector(scene)
      await collect(scene, 'ann', ['a'])
      await scene.advance(windowMs)
      const { receipt } = await receiveTrigger(scene)
      const items = await begunBatch(scene, 'ann', receipt)
      await scene.backend.purgeQueue({ queue: triggers })
      await scene.sweep()
      assert.deepEqual(await endBatch(scene, 'ann', receipt, items), { status: 'gone' })
      assert.deepEqual(await scene.receive(merged), [])
      assert.deepEqual(await repair(scene, 0), { repaired: ['ann'], stuck: [] })
      assert.equal(await mergeNext(scene), 'a')
      assert.deepEqual(await scene.receiveBodies(merged), ['ann:a'])
    },
  )

  suite.test('a key without a queue for its triggers waits for one', async (scene) => {
    await openCollector(scene)
    await collect(scene, 'ann', ['a'])
    await scene.backend.deleteQueue({ queue: triggers })
    await scene.advance(windowMs)
    assert.deepEqual(await repair(scene, 0), fine)
    assert.equal((await readKey(scene, 'ann'))?.trigger, 'none')
    await scene.queue(triggers, { visibilityMs: leaseMs })
    await scene.advance(1)
    assert.deepEqual(await repair(scene, 0), { repaired: ['ann'], stuck: [] })
    assert.equal(await mergeNext(scene), 'a')
  })

  suite.test('a running batch is not missed, however long it takes', async (scene) => {
    await openCollector(scene)
    await collect(scene, 'ann', ['a'])
    await scene.advance(windowMs)
    const { receipt } = await receiveTrigger(scene)
    const items = await begunBatch(scene, 'ann', receipt)
    await scene.extend(triggers, receipt, 5 * minute)
    await scene.advance(4 * minute)
    assert.deepEqual(await repair(scene), fine)
    await endBatch(scene, 'ann', receipt, items)
    await assertNothingLeft(scene, 'ann')
  })
}

/** Lets the trigger of a key fail for good, by failing to be received any more. */
async function killTrigger(scene: Scene): Promise<void> {
  for (let receive = 0; receive < 3; receive += 1) {
    const { key, receipt } = await receiveTrigger(scene)
    await beginBatch(scene, key, receipt)
    await scene.settle(triggers, receipt, { kind: 'retry', delayMs: 0 })
  }
  assert.deepEqual(await scene.receive(triggers), [])
}

async function redrive(scene: Scene): Promise<void> {
  await scene.backend.startMoveTask({ source: deadTriggers })
  await scene.sweep()
}

function describeDeadTriggers(suite: ContractSuite): void {
  suite.test('a batch that failed for good is kept with its trigger, and shown', async (scene) => {
    await openCollector(scene)
    await collect(scene, 'ann', ['a', 'b'])
    await scene.advance(windowMs)
    await killTrigger(scene)
    await scene.advance(minute)
    assert.deepEqual(await repair(scene), { repaired: [], stuck: ['ann'] })
    const found = await readKey(scene, 'ann')
    const { trigger, staged, running, kept, dueAt } = found ?? {}
    assert.deepEqual([trigger, staged, running, kept, dueAt], ['dead', 0, 0, 2, null])
    assert.equal(idsOf(found?.keptItems ?? []), 'ab')
    const { items } = await collectorsOf(scene).list({ limit: 10 })
    assert.deepEqual(
      items.map((one) => [one.key, one.kept]),
      [['ann', 2]],
    )
    assert.deepEqual((await scene.counts(deadTriggers)).ready, 1)
  })

  suite.test('a redriven trigger merges what it was for', async (scene) => {
    await openCollector(scene)
    await collect(scene, 'ann', ['a'])
    await scene.advance(windowMs)
    await killTrigger(scene)
    await redrive(scene)
    assert.equal(await mergeNext(scene), 'a')
    await assertNothingLeft(scene, 'ann')
  })

  suite.test('later items do not wait for a batch that failed for good', async (scene) => {
    await openCollector(scene)
    await collect(scene, 'ann', ['a'])
    await scene.advance(windowMs)
    await killTrigger(scene)
    await collect(scene, 'ann', ['b'])
    await scene.advance(windowMs)
    assert.equal(await mergeNext(scene), 'b')
    assert.equal((await readKey(scene, 'ann'))?.kept, 1)
    await collect(scene, 'ann', ['c'])
    await redrive(scene)
    // Alone, so that what failed once does not take others with it.
    assert.equal(await mergeNext(scene), 'a')
    await scene.advance(windowMs)
    assert.equal(await mergeNext(scene), 'c')
    await assertNothingLeft(scene, 'ann')
  })

  suite.test('items that came while the batch failed are merged without it', async (scene) => {
    await openCollector(scene)
    await collect(scene, 'ann', ['a'])
    await scene.advance(windowMs)
    const { receipt } = await receiveTrigger(scene)
    await begunBatch(scene, 'ann', receipt)
    await collect(scene, 'ann', ['b'], { windowMs: 0 })
    await scene.settle(triggers, receipt, { kind: 'deadLetter', reason: 'broken' })
    assert.equal(await mergeNext(scene), 'b')
  })

  suite.test(
    'an item that is kept is a duplicate, until it was merged and forgotten',
    async (scene) => {
      await openCollector(scene)
      await collect(scene, 'ann', ['a'])
      await scene.advance(windowMs)
      await killTrigger(scene)
      const again = (): Promise<readonly AddedItem[]> =>
        collectorsOf(scene).add(itemsRequest('ann', ['a']))
      assert.deepEqual(await again(), [{ id: 'a', status: 'duplicate' }])
      await redrive(scene)
      assert.equal(await mergeNext(scene), 'a')
      assert.deepEqual(await again(), [{ id: 'a', status: 'duplicate' }])
      await scene.advance(day)
      assert.deepEqual(await again(), [{ id: 'a', status: 'staged' }])
    },
  )

  suite.test('kept items and new ones are merged one batch at a time', async (scene) => {
    await openCollector(scene)
    await collect(scene, 'ann', ['a'])
    await scene.advance(windowMs)
    await killTrigger(scene)
    await collect(scene, 'ann', ['b'])
    await scene.advance(windowMs)
    const first = await receiveTrigger(scene)
    const items = await begunBatch(scene, 'ann', first.receipt)
    await redrive(scene)
    const second = await receiveTrigger(scene)
    assert.deepEqual(await beginBatch(scene, 'ann', second.receipt), { status: 'busy' })
    await scene.acknowledge(triggers, second.receipt)
    await endBatch(scene, 'ann', first.receipt, items)
    // The end of the running batch sees to what was kept.
    const third = await receiveTrigger(scene)
    assert.equal(idsOf(await begunBatch(scene, 'ann', third.receipt)), 'a')
    await collect(scene, 'ann', ['c'], { windowMs: 0 })
    const fourth = await receiveTrigger(scene)
    assert.deepEqual(await beginBatch(scene, 'ann', fourth.receipt), { status: 'busy' })
    await scene.acknowledge(triggers, fourth.receipt)
    await endBatch(scene, 'ann', third.receipt, await begunBatch(scene, 'ann', third.receipt))
    assert.equal(await mergeNext(scene), 'c')
    await assertNothingLeft(scene, 'ann')
  })

  suite.test('a trigger that goes with a dead one is not received after it', async (scene) => {
    await openCollector(scene)
    await collect(scene, 'ann', ['a'])
    await scene.advance(windowMs)
    const { receipt } = await receiveTrigger(scene)
    await begunBatch(scene, 'ann', receipt)
    await scene.advance(leaseMs)
    await scene.receive(triggers, { max: 1 })
    // The batch has no holder, so a flush sends another trigger.
    await collectorsOf(scene).flush({ collector, key: 'ann' })
    await collect(scene, 'bob', ['b'], { windowMs: 0 })
    await scene.advance(leaseMs)
    await scene.receive(triggers, { max: 1 })
    await scene.advance(leaseMs)
    const deliveries = await scene.receive(triggers, { max: 10 })
    assert.deepEqual(
      deliveries.map(({ body }) => body),
      [triggerBody('bob')],
    )
    assert.deepEqual(await scene.counts(triggers), { ready: 0, leased: 1, delayed: 0 })
  })

  suite.test('a kept batch that fails again is kept again, with its new trigger', async (scene) => {
    await openCollector(scene)
    await collect(scene, 'ann', ['a'])
    await scene.advance(windowMs)
    await killTrigger(scene)
    await redrive(scene)
    await killTrigger(scene)
    assert.equal((await readKey(scene, 'ann'))?.kept, 1)
    await scene.backend.purgeQueue({ queue: deadTriggers })
    await scene.advance(minute)
    // A dead letter that was thrown away does not take the items with it.
    assert.deepEqual(await repair(scene), { repaired: ['ann'], stuck: [] })
    assert.equal(await mergeNext(scene), 'a')
    await assertNothingLeft(scene, 'ann')
  })

  suite.test(
    'a flush also makes kept items due; their dead trigger then does nothing',
    async (scene) => {
      await openCollector(scene)
      await collect(scene, 'ann', ['a'])
      await scene.advance(windowMs)
      await killTrigger(scene)
      assert.equal(await collectorsOf(scene).flush({ collector, key: 'ann' }), true)
      assert.equal(await mergeNext(scene), 'a')
      assert.equal(await readKey(scene, 'ann'), undefined)
      await redrive(scene)
      const { receipt } = await receiveTrigger(scene)
      assert.deepEqual(await beginBatch(scene, 'ann', receipt), { status: 'nothing' })
    },
  )

  suite.test(
    'a batch whose last holder died is kept by the next begin of its key',
    async (scene) => {
      await openCollector(scene)
      await collect(scene, 'ann', ['a'])
      await scene.advance(windowMs)
      for (let receive = 0; receive < 3; receive += 1) {
        const { receipt } = await receiveTrigger(scene)
        await begunBatch(scene, 'ann', receipt)
        if (receive === 2) await collect(scene, 'ann', ['b'], { windowMs: leaseMs })
        await scene.advance(leaseMs)
      }
      assert.equal(await mergeNext(scene), 'b')
      assert.equal((await readKey(scene, 'ann'))?.kept, 1)
      await redrive(scene)
      assert.equal(await mergeNext(scene), 'a')
      await assertNothingLeft(scene, 'ann')
    },
  )

  suite.test('a trigger that has no receive left is no trigger any more', async (scene) => {
    await openCollector(scene)
    await collect(scene, 'ann', ['a'])
    await scene.advance(windowMs)
    for (let receive = 0; receive < 3; receive += 1) {
      await receiveTrigger(scene)
      await scene.advance(leaseMs)
    }
    assert.equal((await readKey(scene, 'ann'))?.trigger, 'dead')
    // Its window was over long ago, so that what is staged is due at once.
    await collect(scene, 'ann', ['b'])
    assert.equal(await mergeNext(scene), 'ab')
  })

  suite.test('items left to the end of a batch that never ended are seen to', async (scene) => {
    await openCollector(scene)
    await collect(scene, 'ann', ['a'])
    await scene.advance(windowMs)
    for (let receive = 0; receive < 2; receive += 1) {
      const { receipt } = await receiveTrigger(scene)
      await scene.settle(triggers, receipt, { kind: 'retry', delayMs: 0 })
    }
    const last = await receiveTrigger(scene)
    await begunBatch(scene, 'ann', last.receipt)
    await collect(scene, 'ann', ['b'], { windowMs: second })
    await scene.advance(second)
    const { receipt } = await receiveTrigger(scene)
    assert.deepEqual(await beginBatch(scene, 'ann', receipt), { status: 'busy' })
    await scene.acknowledge(triggers, receipt)
    await scene.settle(triggers, last.receipt, { kind: 'deadLetter', reason: 'broken' })
    assert.equal(await mergeNext(scene), 'b')
    await scene.advance(minute)
    assert.deepEqual(await repair(scene), { repaired: [], stuck: ['ann'] })
    await collectorsOf(scene).flush({ collector, key: 'ann' })
    assert.equal(await mergeNext(scene), 'a')
  })
}
