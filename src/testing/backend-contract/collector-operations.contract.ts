/** What an operator sees of collectors, and can do about them. */
import assert from 'node:assert/strict'
import type { KeySummary } from '../../backends/collector-store.ts'
import {
  assertNothingLeft,
  beginBatch,
  begunBatch,
  collect,
  collector,
  collectorsOf,
  endBatch,
  idsOf,
  merged,
  mergeNext,
  openCollector,
  readKey,
  receiveTrigger,
  triggers,
  windowMs,
} from './collector-scene.ts'
import { day, minute, type Scene, second } from './scene.ts'
import type { ContractSuite } from './suite.ts'

export function describeCollectorOperations(all: ContractSuite): void {
  const suite = all.needing('collectors')
  suite.describe('looking at collectors, and flushing', () => {
    describeFlushing(suite)
    describeLooking(suite)
  })
}

function describeFlushing(suite: ContractSuite): void {
  const flush = (scene: Scene, key = 'ann'): Promise<boolean> =>
    collectorsOf(scene).flush({ collector, key })

  suite.test('a key can be merged without waiting for its window', async (scene) => {
    await openCollector(scene)
    await collect(scene, 'ann', ['a'])
    assert.equal(await flush(scene), true)
    assert.equal((await readKey(scene, 'ann'))?.trigger, 'due')
    assert.equal(await flush(scene), true)
    assert.equal(await mergeNext(scene), 'a')
    await assertNothingLeft(scene, 'ann')
  })

  suite.test('there is nothing to flush where nothing is staged', async (scene) => {
    await openCollector(scene)
    assert.equal(await flush(scene), false)
    await collect(scene, 'ann', ['a'])
    assert.equal(await flush(scene, 'bob'), false)
    await scene.advance(windowMs)
    const { receipt } = await receiveTrigger(scene)
    await begunBatch(scene, 'ann', receipt)
    assert.equal(await flush(scene), false)
  })

  suite.test('what came while a batch runs is merged right after it', async (scene) => {
    await openCollector(scene)
    await collect(scene, 'ann', ['a'])
    await scene.advance(windowMs)
    const { receipt } = await receiveTrigger(scene)
    const items = await begunBatch(scene, 'ann', receipt)
    await collect(scene, 'ann', ['b'])
    assert.equal(await flush(scene), true)
    await endBatch(scene, 'ann', receipt, items)
    assert.equal(await mergeNext(scene), 'b')
    await assertNothingLeft(scene, 'ann')
  })

  suite.test(
    'a receiver of the trigger that does not begin need not be waited for',
    async (scene) => {
      await openCollector(scene)
      await collect(scene, 'ann', ['a'])
      await scene.advance(windowMs)
      const idle = await receiveTrigger(scene)
      assert.equal(await flush(scene), true)
      assert.equal(await flush(scene), true)
      assert.equal(await mergeNext(scene), 'a')
      assert.deepEqual(await beginBatch(scene, 'ann', idle.receipt), { status: 'nothing' })
      await scene.acknowledge(triggers, idle.receipt)
      await assertNothingLeft(scene, 'ann')
    },
  )

  suite.test(
    'a receiver that begins after all leaves no trigger to end the next window',
    async (scene) => {
      await openCollector(scene)
      await collect(scene, 'ann', ['a'])
      await scene.advance(windowMs)
      const { receipt } = await receiveTrigger(scene)
      assert.equal(await flush(scene), true)
      await endBatch(scene, 'ann', receipt, await begunBatch(scene, 'ann', receipt))
      await assertNothingLeft(scene, 'ann')
      await collect(scene, 'ann', ['b'])
      assert.deepEqual(await scene.receive(triggers), [])
      await scene.advance(windowMs)
      assert.equal(await mergeNext(scene), 'b')
    },
  )

  suite.test('a retry need not be waited for, nor a purged or dead trigger', async (scene) => {
    await openCollector(scene)
    await collect(scene, 'ann', ['a'])
    await scene.advance(windowMs)
    const { receipt } = await receiveTrigger(scene)
    await scene.settle(triggers, receipt, { kind: 'retry', delayMs: minute })
    assert.equal(await flush(scene), true)
    const again = await receiveTrigger(scene)
    assert.equal(again.receiveCount, 2)
    assert.equal(await flush(scene), true)
    await scene.settle(triggers, again.receipt, { kind: 'deadLetter', reason: 'broken' })
    assert.equal(await flush(scene), true)
    await scene.backend.purgeQueue({ queue: triggers })
    assert.equal(await flush(scene), true)
    assert.equal(await mergeNext(scene), 'a')
  })
}

function describeLooking(suite: ContractSuite): void {
  suite.test('a key tells what is staged, since when, and what will happen', async (scene) => {
    await openCollector(scene)
    await scene.send(merged, 'now')
    const { sentAt: now } = await scene.receiveOne(merged)
    await collect(scene, 'ann', ['b'], { orders: { b: 2 } })
    await scene.advance(second)
    await collect(scene, 'ann', ['a'], { orders: { a: 1 } })
    const summary: KeySummary = {
      collector,
      key: 'ann',
      staged: 2,
      bytes: 6,
      since: now,
      trigger: 'waiting',
      dueAt: now + windowMs,
      running: 0,
      kept: 0,
    }
    assert.deepEqual(await readKey(scene, 'ann'), {
      ...summary,
      items: [
        { id: 'a', body: '"a"', order: 1, stagedAt: now + second },
        { id: 'b', body: '"b"', order: 2, stagedAt: now },
      ],
      keptItems: [],
    })
    const { list, read } = collectorsOf(scene)
    assert.deepEqual(await list({ limit: 10 }), { items: [summary] })
    const one = await read({ collector, key: 'ann', limit: 1 })
    assert.equal(idsOf(one?.items ?? []), 'a')
    await scene.advance(windowMs)
    const { receipt } = await receiveTrigger(scene)
    await begunBatch(scene, 'ann', receipt)
    const held = await readKey(scene, 'ann')
    assert.deepEqual([held?.staged, held?.since, held?.running], [0, null, 2])
    assert.deepEqual([held?.trigger, held?.dueAt, held?.items], ['held', null, []])
  })

  suite.test('keys are listed by name, in pages, of all collectors or of one', async (scene) => {
    await openCollector(scene)
    const other = 'app-dev-conversations-2'
    for (const key of ['c', 'a', 'b']) await collect(scene, key, ['1'])
    await collect(scene, 'd', ['1'], { collector: other })
    await collect(scene, 'e', ['1'], { collector: 'zoo' })
    const { list } = collectorsOf(scene)
    const keysOf = async (options: object): Promise<string> => {
      let found = ''
      for (let after: string | undefined, page = 0; page < 9; page += 1) {
        const { items, next } = await list({ limit: 2, ...options, ...(after && { after }) })
        assert.ok(items.length <= 2)
        found += items.map(({ key }) => key).join('')
        if (next === undefined) break
        after = next
      }
      return found
    }
    assert.equal(await keysOf({}), 'abcde')
    assert.equal(await keysOf({ prefix: 'app-dev-' }), 'abcd')
    assert.equal(await keysOf({ collector }), 'abc')
    assert.equal(await keysOf({ collector: other }), 'd')
    assert.equal(await keysOf({ prefix: 'app-dev-%' }), '')
  })

  suite.test('separators in keys, ids and names keep everything apart', async (scene) => {
    await openCollector(scene)
    const odd = ['a:b', 'a', ':', '{a}', '/../*', 'a\nb', '"', "'; --", '[", "]', '%', '\\', '漢字']
    for (const key of odd) await collect(scene, key, [...odd], { rememberMs: day })
    await collect(scene, 'b', ['x'], { collector: `${collector}:a` })
    const { list } = collectorsOf(scene)
    for (let after: string | undefined, count = 1; count <= odd.length; count += 1) {
      const { items, next } = await list({ collector, limit: 1, ...(after && { after }) })
      assert.equal(items.length, 1)
      after = next
    }
    await scene.advance(windowMs)
    for (const key of odd) {
      const trigger = await receiveTrigger(scene)
      assert.equal(trigger.key, key)
      const batch = await begunBatch(scene, key, trigger.receipt)
      assert.deepEqual(
        batch.map(({ id }) => id),
        odd,
      )
      await endBatch(scene, key, trigger.receipt, batch)
      assert.equal(await readKey(scene, key), undefined)
    }
    const { items: left } = await list({ limit: 10 })
    assert.deepEqual(
      left.map(({ collector: name, key }) => [name, key]),
      [[`${collector}:a`, 'b']],
    )
  })
}
