/** At most one batch per key at a time, and each item in exactly one that ended. */
import assert from 'node:assert/strict'
import type { Settlement } from '../../backends/backend.ts'
import {
  assertNothingLeft,
  beginBatch,
  begunBatch,
  collect,
  collector,
  endBatch,
  idsOf,
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
import { assertRefused, only, type Scene, second } from './scene.ts'
import type { ContractSuite } from './suite.ts'

export function describeCollectorBatches(all: ContractSuite): void {
  const suite = all.needing('collectors')
  suite.describe('batches of collectors', () => {
    describeLateArrivals(suite)
    describeContention(suite)
    describeLostHolders(suite)
    describeRefusals(suite)
  })
}

interface Held {
  readonly receipt: string
  readonly items: Awaited<ReturnType<typeof begunBatch>>
}

/** One item, whose window has ended and whose batch runs. */
async function running(scene: Scene, ...ids: readonly string[]): Promise<Held> {
  await collect(scene, 'ann', ids)
  await scene.advance(windowMs)
  const { receipt } = await receiveTrigger(scene)
  return { receipt, items: await begunBatch(scene, 'ann', receipt) }
}

/** A trigger that was written by hand. */
async function byHand(scene: Scene, key: string): Promise<string> {
  await scene.send(triggers, triggerBody(key))
  return (await receiveTrigger(scene)).receipt
}

function describeLateArrivals(suite: ContractSuite): void {
  suite.test('an item that comes while a batch runs is part of the next one', async (scene) => {
    await openCollector(scene)
    const { receipt, items } = await running(scene, 'a')
    await scene.advance(second)
    await collect(scene, 'ann', ['b'])
    const { staged, running: inBatch } = (await readKey(scene, 'ann')) ?? {}
    assert.deepEqual([staged, inBatch], [1, 1])
    assert.equal((await endBatch(scene, 'ann', receipt, items)).status, 'settled')
    await scene.advance(windowMs - 1)
    assert.deepEqual(await scene.receive(triggers), [])
    await scene.advance(1)
    assert.equal(await mergeNext(scene), 'b')
    assert.deepEqual(await scene.receiveBodies(merged), ['ann:a', 'ann:b'])
    await assertNothingLeft(scene, 'ann')
  })

  suite.test('also when it belongs in front of what is being merged', async (scene) => {
    await openCollector(scene)
    await collect(scene, 'ann', ['b', 'c'], { orders: { b: 2, c: 3 } })
    await scene.advance(windowMs)
    const { receipt } = await receiveTrigger(scene)
    const items = await begunBatch(scene, 'ann', receipt)
    await collect(scene, 'ann', ['a'], { orders: { a: 1 } })
    assert.equal(idsOf((await readKey(scene, 'ann'))?.items ?? []), 'a')
    assert.equal((await endBatch(scene, 'ann', receipt, items)).status, 'settled')
    await scene.advance(windowMs)
    assert.equal(await mergeNext(scene), 'a')
    assert.deepEqual(await scene.receiveBodies(merged), ['ann:bc', 'ann:a'])
  })

  suite.test('an item that comes between receive and begin is not left behind', async (scene) => {
    await openCollector(scene)
    await collect(scene, 'ann', ['a'])
    await scene.advance(windowMs)
    const { receipt } = await receiveTrigger(scene)
    await collect(scene, 'ann', ['b'])
    const items = await begunBatch(scene, 'ann', receipt)
    assert.equal(idsOf(items), 'ab')
    await endBatch(scene, 'ann', receipt, items)
    // The trigger of its own went with it, or it would cut the next window short.
    await assertNothingLeft(scene, 'ann')
    await collect(scene, 'ann', ['c'])
    await scene.advance(windowMs - 1)
    assert.deepEqual(await scene.receive(triggers), [])
    await scene.advance(1)
    assert.equal(await mergeNext(scene), 'c')
  })

  suite.test('more than a batch holds does not wait for the end of the window', async (scene) => {
    await openCollector(scene)
    const { receipt, items } = await running(scene, 'a')
    await collect(scene, 'ann', ['b', 'c'], { maxItems: 2 })
    assert.deepEqual(await scene.receive(triggers), [])
    await endBatch(scene, 'ann', receipt, items)
    assert.equal(await mergeNext(scene), 'bc')
    await assertNothingLeft(scene, 'ann')
  })
}

function describeContention(suite: ContractSuite): void {
  suite.test(
    'a trigger that finds a running batch learns it, and can be acknowledged',
    async (scene) => {
      await openCollector(scene)
      const { receipt, items } = await running(scene, 'a')
      await collect(scene, 'ann', ['b'], { windowMs: second })
      await scene.advance(second)
      const other = await receiveTrigger(scene)
      assert.deepEqual(await beginBatch(scene, 'ann', other.receipt), { status: 'busy' })
      assert.equal((await scene.acknowledge(triggers, other.receipt)).status, 'settled')
      await collect(scene, 'ann', ['c'])
      assert.deepEqual(await scene.counts(triggers), { ready: 0, leased: 1, delayed: 0 })
      // The end of the batch schedules a trigger for those items, at once.
      await endBatch(scene, 'ann', receipt, items)
      assert.equal(await mergeNext(scene), 'bc')
      await assertNothingLeft(scene, 'ann')
    },
  )

  suite.test('a trigger without anything to merge learns it', async (scene) => {
    await openCollector(scene)
    const receipt = await byHand(scene, 'ann')
    assert.deepEqual(await beginBatch(scene, 'ann', receipt), { status: 'nothing' })
    assert.equal((await scene.acknowledge(triggers, receipt)).status, 'settled')
  })

  suite.test('a trigger written by hand merges what is staged', async (scene) => {
    await openCollector(scene)
    await collect(scene, 'ann', ['a', 'b'])
    await scene.send(triggers, triggerBody('ann'))
    assert.equal(await mergeNext(scene), 'ab')
    await assertNothingLeft(scene, 'ann')
  })

  suite.test('the holder of a batch can begin it again', async (scene) => {
    await openCollector(scene)
    const { receipt, items } = await running(scene, 'a', 'b')
    await collect(scene, 'ann', ['c'])
    assert.deepEqual(await begunBatch(scene, 'ann', receipt), items)
    await endBatch(scene, 'ann', receipt, items)
    assert.equal((await readKey(scene, 'ann'))?.staged, 1)
  })

  suite.test('a batch is ended by its own trigger only', async (scene) => {
    await openCollector(scene)
    const { receipt, items } = await running(scene, 'a')
    const other = await byHand(scene, 'ann')
    assert.deepEqual(await endBatch(scene, 'ann', other, items), { status: 'stale' })
    assert.deepEqual(await endBatch(scene, 'bob', receipt, items), { status: 'stale' })
    assert.deepEqual(await scene.receive(merged), [])
    assert.equal((await endBatch(scene, 'ann', receipt, items)).status, 'settled')
    assert.deepEqual(await endBatch(scene, 'ann', receipt, items), { status: 'stale' })
    assert.deepEqual(await scene.receiveBodies(merged), ['ann:a'])
  })

  suite.test('one key in two collectors is two keys', async (scene) => {
    await openCollector(scene)
    await collect(scene, 'ann', ['a'])
    await collect(scene, 'ann', ['b'], { collector: `${collector}-2` })
    await scene.advance(windowMs)
    assert.equal(await mergeNext(scene), 'a')
    const { receipt } = await receiveTrigger(scene)
    assert.deepEqual(await beginBatch(scene, 'ann', receipt), { status: 'nothing' })
  })
}

function describeLostHolders(suite: ContractSuite): void {
  suite.test('a batch whose worker is gone is delivered again with its trigger', async (scene) => {
    await openCollector(scene)
    const { receipt } = await running(scene, 'a')
    await collect(scene, 'ann', ['b'])
    await scene.advance(leaseMs - 1)
    const early = await receiveTrigger(scene)
    assert.deepEqual(await beginBatch(scene, 'ann', early.receipt), { status: 'busy' })
    await scene.acknowledge(triggers, early.receipt)
    await scene.advance(1)
    const late = await receiveTrigger(scene)
    assert.notEqual(late.receipt, receipt)
    const items = await begunBatch(scene, 'ann', late.receipt)
    assert.equal(idsOf(items), 'ab')
    assert.deepEqual(await beginBatch(scene, 'ann', receipt), { status: 'stale' })
    await endBatch(scene, 'ann', late.receipt, items)
    await assertNothingLeft(scene, 'ann')
  })

  suite.needing('reopen').test('also after a crash of the whole store', async (scene) => {
    await openCollector(scene)
    await running(scene, 'a')
    await scene.reopen()
    await scene.advance(leaseMs)
    assert.equal(await mergeNext(scene), 'a')
    await assertNothingLeft(scene, 'ann')
  })

  suite.test('a holder that was followed by another one changes nothing', async (scene) => {
    await openCollector(scene)
    const { receipt, items } = await running(scene, 'a')
    const taker = await byHand(scene, 'ann')
    await scene.extend(triggers, taker, 2 * leaseMs)
    await scene.advance(leaseMs)
    // The first trigger was not received again: alone, its late acknowledgement would be accepted.
    assert.equal(idsOf(await begunBatch(scene, 'ann', taker)), 'a')
    assert.deepEqual(await endBatch(scene, 'ann', receipt, items), { status: 'stale' })
    assert.deepEqual(await scene.receive(merged), [])
    assert.equal((await endBatch(scene, 'ann', taker, items)).status, 'settled')
    assert.deepEqual(await scene.receiveBodies(merged), ['ann:a'])
  })

  suite.test('a holder that is late and alone ends its batch', async (scene) => {
    await openCollector(scene)
    const { receipt, items } = await running(scene, 'a')
    await collect(scene, 'ann', ['b'])
    await scene.advance(leaseMs)
    assert.equal((await endBatch(scene, 'ann', receipt, items)).status, 'settled')
    assert.deepEqual(await scene.receiveBodies(merged), ['ann:a'])
    assert.equal(await mergeNext(scene), 'b')
    await assertNothingLeft(scene, 'ann')
  })

  suite.test('a batch that failed is merged with what came since', async (scene) => {
    await openCollector(scene)
    const { receipt } = await running(scene, 'b')
    await scene.settle(triggers, receipt, { kind: 'retry', delayMs: 5 * second })
    await collect(scene, 'ann', ['a'], { orders: { a: -1 } })
    assert.equal((await readKey(scene, 'ann'))?.trigger, 'retrying')
    await scene.advance(5 * second)
    assert.equal(await mergeNext(scene), 'ab')
    await assertNothingLeft(scene, 'ann')
  })

  suite.test('a lease that has ended begins nothing', async (scene) => {
    await openCollector(scene)
    await collect(scene, 'ann', ['a'])
    await scene.advance(windowMs)
    const { receipt } = await receiveTrigger(scene)
    await scene.advance(leaseMs)
    assert.deepEqual(await beginBatch(scene, 'ann', receipt), { status: 'lapsed' })
    await scene.receiveOne(triggers)
    assert.deepEqual(await beginBatch(scene, 'ann', receipt), { status: 'stale' })
    await scene.backend.purgeQueue({ queue: triggers })
    assert.deepEqual(await beginBatch(scene, 'ann', receipt), { status: 'gone' })
  })

  suite.test(
    'a retry of a trigger whose items another one has merged is not waited for',
    async (scene) => {
      await openCollector(scene)
      const { receipt } = await running(scene, 'a')
      await scene.settle(triggers, receipt, { kind: 'retry', delayMs: second })
      const other = await byHand(scene, 'ann')
      await endBatch(scene, 'ann', other, await begunBatch(scene, 'ann', other))
      await assertNothingLeft(scene, 'ann')
      await collect(scene, 'ann', ['b'])
      await scene.advance(second)
      assert.deepEqual(await scene.receive(triggers), [])
      await scene.advance(windowMs)
      assert.equal(await mergeNext(scene), 'b')
    },
  )
}

function describeRefusals(suite: ContractSuite): void {
  suite.test('a settlement that names no batch as it should changes nothing', async (scene) => {
    await openCollector(scene)
    const { receipt, items } = await running(scene, 'a')
    const wrong: readonly unknown[] = [null, 'ann', {}, { collector }, { collector, key: 7 }, []]
    for (const batch of wrong) {
      const settlement = { receipt, outcome: { kind: 'acknowledge' }, batch } as Settlement
      const settlements = [settlement]
      const result = only(await scene.backend.settle({ queue: triggers, settlements }))
      assertRefused(result, 'invalid_argument')
    }
    assert.equal((await readKey(scene, 'ann'))?.running, 1)
    assert.equal((await endBatch(scene, 'ann', receipt, items)).status, 'settled')
  })
}
