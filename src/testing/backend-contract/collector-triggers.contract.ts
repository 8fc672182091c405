/** Triggers are messages that anybody may purge, bury or redrive, and no key may be stranded by it. */
import assert from 'node:assert/strict'
import type { CollectorKey } from '../../backends/collector-store.ts'
import {
  addItems,
  assertNothingLeft,
  begin,
  begun,
  collect,
  collector,
  collectorsOf,
  end,
  leaseMs,
  look,
  merged,
  mergeNext,
  openCollector,
  receiveTrigger,
  triggers,
  windowMs,
} from './collector-scene.ts'
import { minute, type Scene, second } from './scene.ts'
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
      assert.equal((await look(scene, 'ann'))?.trigger, 'none')
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
    await collectorsOf(scene).add(addItems('ann', ['a']))
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
    assert.equal((await look(scene, 'ann'))?.trigger, 'none')
    assert.deepEqual(await repair(scene, 0), { repaired: ['ann'], stuck: [] })
    assert.equal(await mergeNext(scene), 'a')
  })

  suite.test('a trigger that somebody deleted without merging is missed', async (scene) => {
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
      const items = await begun(scene, 'ann', receipt)
      await scene.backend.purgeQueue({ queue: triggers })
      await scene.sweep()
      assert.deepEqual(await end(scene, 'ann', receipt, items), { status: 'gone' })
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
    assert.equal((await look(scene, 'ann'))?.trigger, 'none')
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
    const items = await begun(scene, 'ann', receipt)
    await scene.extend(triggers, receipt, 5 * minute)
    await scene.advance(4 * minute)
    assert.deepEqual(await repair(scene), fine)
    await end(scene, 'ann', receipt, items)
    await assertNothingLeft(scene, 'ann')
  })
}

/** Lets the trigger of a key fail for good, by failing to be received any more. */
async function killTrigger(scene: Scene): Promise<void> {
  for (let receive = 0; receive < 3; receive += 1) {
    const { key, receipt } = await receiveTrigger(scene)
    await begin(scene, key, receipt)
    await scene.settle(triggers, receipt, { kind: 'retry', delayMs: 0 })
  }
  assert.deepEqual(await scene.receive(triggers), [])
}

async function redrive(scene: Scene): Promise<void> {
  await scene.backend.startMoveTask({ source: deadTriggers })
  await scene.sweep()
}

function describeDeadTriggers(suite: ContractSuite): void {
  suite.test('a trigger that failed for good leaves its key stuck, and says so', async (scene) => {
    await openCollector(scene)
    await collect(scene, 'ann', ['a'])
    await scene.advance(windowMs)
    await killTrigger(scene)
    await scene.advance(minute)
    assert.deepEqual(await repair(scene), { repaired: [], stuck: ['ann'] })
    const { trigger, staged, dueAt } = (await look(scene, 'ann')) ?? {}
    assert.deepEqual([trigger, staged, dueAt], ['dead', 1, null])
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

  suite.test('the next item brings a trigger that merges all of it', async (scene) => {
    await openCollector(scene)
    await collect(scene, 'ann', ['a'])
    await scene.advance(windowMs)
    await killTrigger(scene)
    await collect(scene, 'ann', ['b'])
    await scene.advance(windowMs)
    assert.equal(await mergeNext(scene), 'ab')
    assert.equal(await look(scene, 'ann'), undefined)
    await redrive(scene)
    const { receipt } = await receiveTrigger(scene)
    assert.deepEqual(await begin(scene, 'ann', receipt), { status: 'nothing' })
  })

  suite.test('a trigger that has no receive left is no trigger any more', async (scene) => {
    await openCollector(scene)
    await collect(scene, 'ann', ['a'])
    await scene.advance(windowMs)
    for (let receive = 0; receive < 3; receive += 1) {
      await receiveTrigger(scene)
      await scene.advance(leaseMs)
    }
    assert.equal((await look(scene, 'ann'))?.trigger, 'dead')
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
    await begun(scene, 'ann', last.receipt)
    await collect(scene, 'ann', ['b'], { windowMs: second })
    await scene.advance(second)
    const { receipt } = await receiveTrigger(scene)
    assert.deepEqual(await begin(scene, 'ann', receipt), { status: 'busy' })
    await scene.acknowledge(triggers, receipt)
    await scene.settle(triggers, last.receipt, { kind: 'bury', reason: 'broken' })
    assert.deepEqual(await scene.receive(triggers), [])
    await scene.advance(minute)
    assert.deepEqual(await repair(scene), { repaired: ['ann'], stuck: [] })
    await killTrigger(scene)
    await scene.advance(minute)
    assert.deepEqual(await repair(scene), { repaired: [], stuck: ['ann'] })
    await collectorsOf(scene).flush({ collector, key: 'ann' })
    assert.equal(await mergeNext(scene), 'ab')
  })
}
