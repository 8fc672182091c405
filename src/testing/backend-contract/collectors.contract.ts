/** Items are staged by key for a window, in the commit of the trigger that will have them merged. */
import assert from 'node:assert/strict'
import {
  assertNothingLeft,
  begunBatch,
  collect,
  collectorsOf,
  endBatch,
  idsOf,
  itemsRequest,
  merged,
  mergeNext,
  openCollector,
  readKey,
  receiveTrigger,
  triggerBody,
  triggers,
  windowMs,
} from './collector-scene.ts'
import { assertRefused, day, hour, minute, only, rejects, type Scene, second } from './scene.ts'
import type { ContractSuite } from './suite.ts'

export function describeCollectors(all: ContractSuite): void {
  const suite = all.needing('collectors')
  suite.describe('collectors', () => {
    describeWindows(suite)
    describeSliding(suite)
    describeDuplicates(suite)
    describeLimits(suite)
    describeRefusals(suite)
  })
}

function describeWindows(suite: ContractSuite): void {
  suite.test('the items of a window become one batch, in the order of arrival', async (scene) => {
    await openCollector(scene)
    await collect(scene, 'ann', ['a'])
    await scene.advance(4 * second)
    await collect(scene, 'ann', ['b', 'c'])
    assert.deepEqual(await scene.counts(triggers), { ready: 0, leased: 0, delayed: 1 })
    await scene.advance(windowMs - 4 * second - 1)
    assert.deepEqual(await scene.receive(triggers), [])
    await scene.advance(1)
    assert.equal(await mergeNext(scene), 'abc')
    assert.deepEqual(await scene.receiveBodies(merged), ['ann:abc'])
    await assertNothingLeft(scene, 'ann')
  })

  suite.test('a trigger has the message that was declared', async (scene) => {
    await openCollector(scene)
    await collect(scene, 'ann', ['a'])
    assert.deepEqual(await scene.peekBodies(triggers, 'delayed'), [triggerBody('ann')])
  })

  suite.test('items are merged by their order, and by arrival where it is equal', async (scene) => {
    await openCollector(scene)
    const orders = { a: 3, b: -1.5, c: 3, d: 2 }
    await collect(scene, 'ann', ['a', 'b', 'c', 'd'], { orders })
    await scene.advance(windowMs)
    const { receipt } = await receiveTrigger(scene)
    const items = await begunBatch(scene, 'ann', receipt)
    assert.equal(idsOf(items), 'bdac')
    assert.deepEqual(
      items.map(({ order, body }) => [order, body]),
      [
        [-1.5, '"b"'],
        [2, '"d"'],
        [3, '"a"'],
        [3, '"c"'],
      ],
    )
  })

  suite.test('each key has a window and a trigger of its own', async (scene) => {
    await openCollector(scene)
    await collect(scene, 'ann', ['a'])
    await scene.advance(second)
    await collect(scene, 'bob', ['a', 'b'])
    await scene.advance(windowMs - second)
    assert.equal(await mergeNext(scene), 'a')
    assert.deepEqual(await scene.receive(triggers), [])
    await scene.advance(second)
    assert.equal(await mergeNext(scene), 'ab')
    assert.deepEqual(await scene.receiveBodies(merged), ['ann:a', 'bob:ab'])
  })

  suite.test('the item that opens a window decides how long it is', async (scene) => {
    await openCollector(scene)
    await collect(scene, 'ann', ['a'], { windowMs: 2 * second })
    await collect(scene, 'ann', ['b'], { windowMs: hour / 4 })
    await scene.advance(2 * second)
    assert.equal(await mergeNext(scene), 'ab')
    await collect(scene, 'ann', ['c'], { windowMs: 0 })
    assert.equal(await mergeNext(scene), 'c')
  })

  suite.test('a window that has ended leaves the next one whole', async (scene) => {
    await openCollector(scene)
    await collect(scene, 'ann', ['a'])
    await scene.advance(windowMs)
    assert.equal(await mergeNext(scene), 'a')
    await collect(scene, 'ann', ['b'])
    await scene.advance(windowMs - 1)
    assert.deepEqual(await scene.receive(triggers), [])
    await scene.advance(1)
    assert.equal(await mergeNext(scene), 'b')
  })

  suite.needing('reopen').test('what is staged outlives the process', async (scene) => {
    await openCollector(scene)
    await collect(scene, 'ann', ['a'])
    await scene.reopen()
    await collect(scene, 'ann', ['b'])
    await scene.advance(windowMs)
    await scene.reopen()
    assert.equal(await mergeNext(scene), 'ab')
    await assertNothingLeft(scene, 'ann')
  })

  suite.test('items can come with a settlement, or not at all', async (scene) => {
    await openCollector(scene)
    await scene.queue('webhooks')
    await scene.send('webhooks', 'hook')
    const { receipt } = await scene.receiveOne('webhooks')
    const settlement = { receipt, items: [itemsRequest('ann', ['a'])] }
    const settle = (kind: 'acknowledge') =>
      scene.backend.settle({
        queue: 'webhooks',
        settlements: [{ ...settlement, outcome: { kind } }],
      })
    assert.equal(only(await settle('acknowledge')).status, 'settled')
    assert.equal((await readKey(scene, 'ann'))?.staged, 1)
    assert.equal(only(await settle('acknowledge')).status, 'gone')
    assert.equal((await readKey(scene, 'ann'))?.staged, 1)
    await scene.advance(windowMs)
    assert.equal(await mergeNext(scene), 'a')
  })
}

function describeSliding(suite: ContractSuite): void {
  const maxWaitMs = 25 * second

  suite.test('with a longest wait, each item begins the window anew', async (scene) => {
    await openCollector(scene)
    for (const id of ['a', 'b', 'c']) {
      await collect(scene, 'ann', [id], { maxWaitMs })
      assert.equal((await readKey(scene, 'ann'))?.trigger, 'waiting')
      await scene.advance(6 * second)
    }
    await scene.advance(4 * second - 1)
    assert.deepEqual(await scene.receive(triggers), [])
    await scene.advance(1)
    assert.equal(await mergeNext(scene), 'abc')
    await assertNothingLeft(scene, 'ann')
  })

  suite.test('the longest wait counts from the first item', async (scene) => {
    await openCollector(scene)
    for (const id of ['a', 'b', 'c', 'd']) {
      await collect(scene, 'ann', [id], { maxWaitMs })
      await scene.advance(8 * second)
      if (id === 'd') break
      assert.deepEqual(await scene.receive(triggers), [])
    }
    // The fourth item came after 24 s, and one second was left.
    assert.equal(await mergeNext(scene), 'abcd')
  })

  suite.test('a duplicate moves nothing', async (scene) => {
    await openCollector(scene)
    await collect(scene, 'ann', ['a'], { maxWaitMs })
    await scene.advance(windowMs - 1)
    await collectorsOf(scene).add(itemsRequest('ann', ['a'], { maxWaitMs }))
    await scene.advance(1)
    assert.equal(await mergeNext(scene), 'a')
  })
}

function describeDuplicates(suite: ContractSuite): void {
  const statuses = async (scene: Scene, key: string, ...ids: string[]): Promise<string[]> =>
    (await collectorsOf(scene).add(itemsRequest(key, ids))).map(({ status }) => status)

  suite.test('an id that is staged for its key is not staged again', async (scene) => {
    await openCollector(scene)
    assert.deepEqual(await statuses(scene, 'ann', 'a', 'b', 'a'), ['staged', 'staged', 'duplicate'])
    assert.deepEqual(await statuses(scene, 'ann', 'b', 'c'), ['duplicate', 'staged'])
    assert.deepEqual(await statuses(scene, 'bob', 'a'), ['staged'])
    await scene.advance(windowMs)
    assert.deepEqual([await mergeNext(scene), await mergeNext(scene)], ['abc', 'a'])
  })

  suite.test('nor is one of the batch that runs', async (scene) => {
    await openCollector(scene)
    await collect(scene, 'ann', ['a'])
    await scene.advance(windowMs)
    const { receipt } = await receiveTrigger(scene)
    const items = await begunBatch(scene, 'ann', receipt)
    assert.deepEqual(await statuses(scene, 'ann', 'a'), ['duplicate'])
    await endBatch(scene, 'ann', receipt, items)
    await assertNothingLeft(scene, 'ann')
  })

  suite.test('an id is remembered after it was merged, for as long as was said', async (scene) => {
    await openCollector(scene)
    await collect(scene, 'ann', ['a'], { rememberMs: minute })
    await scene.advance(windowMs)
    assert.equal(await mergeNext(scene), 'a')
    assert.deepEqual(await statuses(scene, 'ann', 'a'), ['duplicate'])
    await assertNothingLeft(scene, 'ann')
    await scene.advance(minute - 1)
    assert.deepEqual(await statuses(scene, 'ann', 'a'), ['duplicate'])
    await scene.advance(1)
    await scene.sweep()
    assert.deepEqual(await statuses(scene, 'ann', 'a'), ['staged'])
  })

  suite.test('an id is recognised among hundreds of the same key', async (scene) => {
    await openCollector(scene)
    const ids = Array.from({ length: 300 }, (_, index) => `i${index}`)
    for (const id of ids.slice(0, 100)) await collect(scene, 'ann', [id], { maxItems: 1_000 })
    await collect(scene, 'ann', ids.slice(100), { maxItems: 1_000, rememberMs: minute })
    const known = async (...some: string[]): Promise<boolean> =>
      (await statuses(scene, 'ann', ...some)).every((status) => status === 'duplicate')
    assert.ok(await known('i0', 'i63', 'i64', 'i99', 'i299'))
    await scene.advance(windowMs)
    assert.equal(await mergeNext(scene, { maxItems: 200 }), ids.slice(0, 200).join(''))
    assert.ok(await known('i0', 'i199', 'i200', 'i299'))
    assert.equal(await mergeNext(scene, { maxItems: 200 }), ids.slice(200).join(''))
    await assertNothingLeft(scene, 'ann')
    assert.ok(await known(...ids))
    await scene.advance(minute)
    await collect(scene, 'ann', ids)
  })

  suite.test('an id is not remembered at all when that was asked for', async (scene) => {
    await openCollector(scene)
    await collect(scene, 'ann', ['a'], { rememberMs: 0 })
    await scene.advance(windowMs)
    assert.equal(await mergeNext(scene), 'a')
    await collect(scene, 'ann', ['a'])
  })
}

function describeLimits(suite: ContractSuite): void {
  suite.test('so many items do not wait for the window', async (scene) => {
    await openCollector(scene)
    await collect(scene, 'ann', ['a', 'b'], { maxItems: 3 })
    assert.deepEqual(await scene.receive(triggers), [])
    await collect(scene, 'ann', ['c'], { maxItems: 3 })
    assert.deepEqual(await scene.counts(triggers), { ready: 1, leased: 0, delayed: 0 })
    assert.equal(await mergeNext(scene, { maxItems: 3 }), 'abc')
    await assertNothingLeft(scene, 'ann')
  })

  suite.test('so many bytes do not either', async (scene) => {
    await openCollector(scene)
    await collect(scene, 'ann', ['é'], { maxBytes: 7 })
    assert.deepEqual(await scene.receive(triggers), [])
    await collect(scene, 'ann', ['x'], { maxBytes: 7 })
    assert.equal(await mergeNext(scene, { maxBytes: 7 }), 'éx')
  })

  suite.test('a first item that is enough by itself is due at once', async (scene) => {
    await openCollector(scene)
    await collect(scene, 'ann', ['a'], { maxItems: 1 })
    assert.equal(await mergeNext(scene, { maxItems: 1 }), 'a')
  })

  suite.test(
    'what is too much for a batch is the next one, at once while it is full',
    async (scene) => {
      await openCollector(scene)
      const ids = [...'abcdefgh']
      await collect(scene, 'ann', ids, { maxItems: 3 })
      assert.equal(await mergeNext(scene, { maxItems: 3 }), 'abc')
      assert.equal(await mergeNext(scene, { maxItems: 3 }), 'def')
      // Two are left, which have the rest of their window.
      assert.deepEqual(await scene.receive(triggers), [])
      await scene.advance(windowMs)
      assert.equal(await mergeNext(scene, { maxItems: 3 }), 'gh')
      await assertNothingLeft(scene, 'ann')
    },
  )

  suite.test('a batch takes what fits, and at least one item', async (scene) => {
    await openCollector(scene)
    const large = 'x'.repeat(40)
    await collect(scene, 'ann', ['a', 'b', large, 'c'], { maxBytes: 20, maxItems: 100 })
    assert.equal(await mergeNext(scene, { maxBytes: 20 }), 'ab')
    assert.equal(await mergeNext(scene, { maxBytes: 20 }), large)
    await scene.advance(windowMs)
    assert.equal(await mergeNext(scene, { maxBytes: 20 }), 'c')
  })
}

function describeRefusals(suite: ContractSuite): void {
  suite.test('bad arguments are refused and leave nothing behind', async (scene) => {
    await openCollector(scene)
    await scene.fifoQueue('triggers.fifo')
    const { add, begin, list, repair, flush, read } = collectorsOf(scene)
    const given = (more: object) => add({ ...itemsRequest('ann', ['a']), ...more })
    const item = { id: 'a', body: '1', order: 0 }
    const bad: readonly object[] = [
      { key: '' },
      { key: 'x'.repeat(257) },
      { key: 'nul\0' },
      { collector: '' },
      { items: [] },
      { items: Array.from({ length: 1_001 }, (_, index) => ({ ...item, id: `${index}` })) },
      { items: [{ ...item, id: '' }] },
      { items: [{ ...item, body: '' }] },
      { items: [{ ...item, body: '"\ufffe"' }] },
      { items: [{ ...item, order: Number.NaN }] },
      { windowMs: -1 },
      { windowMs: 900_001 },
      { maxWaitMs: 43_200_001 },
      { maxItems: 0 },
      { maxBytes: 0 },
      { rememberMs: -1 },
      { trigger: { queue: 'triggers.fifo', message: { body: '{}' } } },
      { trigger: { queue: triggers, message: { body: '' } } },
    ]
    for (const more of bad) await rejects(given(more), 'invalid_argument')
    const unknown = { trigger: { queue: 'nowhere', message: { body: '{}' } } }
    await rejects(given(unknown), 'queue_not_found')
    await rejects(read({ collector: 'c', key: 'k', limit: 0 }), 'invalid_argument')
    await rejects(list({ limit: 0 }), 'invalid_argument')
    await rejects(list({ limit: 1, after: 'x' }), 'invalid_argument')
    await rejects(flush({ collector: 'c', key: '' }), 'invalid_argument')
    await rejects(repair({ overdueMs: -1, limit: 1 }), 'invalid_argument')
    const batch = { collector: 'c', key: 'k', queue: triggers, maxItems: 1, maxBytes: 1 }
    await rejects(begin({ ...batch, receipt: 'x' }), 'receipt_invalid')
    await rejects(begin({ ...batch, receipt: 'x', maxItems: 0 }), 'invalid_argument')
    await assertNothingLeft(scene, 'ann')
  })

  suite.test('items that are refused keep their settlement from happening', async (scene) => {
    await openCollector(scene)
    await scene.queue('webhooks')
    await scene.send('webhooks', 'hook')
    const { receipt } = await scene.receiveOne('webhooks', { visibilityMs: day / 2 })
    for (const more of [
      { trigger: { queue: 'nowhere', message: { body: '{}' } } },
      { windowMs: -1 },
    ]) {
      const settlement = {
        receipt,
        outcome: { kind: 'acknowledge' },
        items: [{ ...itemsRequest('ann', ['a']), ...more }],
      } as const
      const settlements = [settlement]
      const result = only(await scene.backend.settle({ queue: 'webhooks', settlements }))
      assertRefused(result, 'queue_not_found', 'invalid_argument')
    }
    assert.equal(await readKey(scene, 'ann'), undefined)
    assert.deepEqual(await scene.counts('webhooks'), { ready: 0, leased: 1, delayed: 0 })
  })
}
