import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import type { Told } from './handlers/puppet.ts'
import { bodies, type LambdaScene, openLambdaScene } from './lambda-scene.ts'

const second = 1_000
const numbered = (count: number): string[] => Array.from({ length: count }, (_, n) => String(n))

/** Lets whatever might still begin do so, and answers how many have. */
async function begun(scene: LambdaScene): Promise<number> {
  await scene.ports.clock.advance(0)
  return scene.begun()
}

describe('concurrency', () => {
  test('is that of the event source, and what has no room is not received', async () => {
    const scene = await openLambdaScene()
    await scene.queue()
    await scene.send(...numbered(5))
    await scene.run(scene.set({}, { batchSize: 1, maximumConcurrency: 2 }))
    await scene.began(1)
    assert.equal(await begun(scene), 2)
    assert.deepEqual(await scene.store.counts('work'), { ready: 3, leased: 2, delayed: 0 })
    scene.order(await scene.began(0))
    const third = await scene.began(2)
    assert.deepEqual(bodies(third), ['2'])
    assert.equal(third.event.Records[0]?.attributes.ApproximateReceiveCount, '1')
    assert.equal(await begun(scene), 3)
  })

  test('is five for an event source that does not say', async () => {
    const scene = await openLambdaScene()
    await scene.queue()
    await scene.send(...numbered(7))
    await scene.run(scene.set({}, { batchSize: 1 }))
    await scene.began(4)
    assert.equal(await begun(scene), 5)
    assert.equal((await scene.store.counts('work')).ready, 2)
  })

  test('reserved for a function is shared by all its event sources', async () => {
    const scene = await openLambdaScene()
    await scene.queue({}, 'left')
    await scene.queue({}, 'right')
    await scene.store.send('left', 'l1', 'l2')
    await scene.store.send('right', 'r1', 'r2')
    const source = { batchSize: 1 }
    await scene.run({
      functions: [scene.function({ reservedConcurrency: 1 })],
      eventSources: ['left', 'right'].map((queue) => scene.source({ ...source, queue })),
    })
    const order: string[] = []
    for (const index of [0, 1, 2, 3]) {
      const told = await scene.began(index)
      assert.equal(await begun(scene), index + 1)
      order.push(...bodies(told))
      scene.order(told)
      await scene.ended(index)
    }
    assert.deepEqual(order, ['l1', 'r1', 'l2', 'r2'])
  })

  test('is not used up by a queue that is empty', async () => {
    const scene = await openLambdaScene()
    await scene.queue({}, 'empty')
    await scene.queue({}, 'busy')
    await scene.run({
      functions: [scene.function({ reservedConcurrency: 1 })],
      eventSources: ['empty', 'busy'].map((queue) => scene.source({ queue })),
    })
    await scene.ports.clock.advance(60 * second)
    await scene.store.send('busy', 'one')
    assert.deepEqual(bodies(await scene.began()), ['one'])
  })

  test('of 0 stops a function without taking its messages', async () => {
    const scene = await openLambdaScene()
    await scene.queue()
    await scene.send('one')
    await scene.run(scene.set({ reservedConcurrency: 0 }))
    await scene.ports.clock.advance(60 * second)
    assert.deepEqual(await scene.store.counts('work'), { ready: 1, leased: 0, delayed: 0 })
    await scene.runtime.reload(scene.set({ reservedConcurrency: 1 }))
    const [record] = (await scene.began()).event.Records
    assert.equal(record?.attributes.ApproximateReceiveCount, '1')
  })

  test('of the account holds for all functions together', async () => {
    const scene = await openLambdaScene({ accountConcurrency: 3 })
    await scene.queue({}, 'left')
    await scene.queue({}, 'right')
    await scene.store.send('left', ...numbered(3))
    await scene.store.send('right', ...numbered(3))
    await scene.run({
      functions: ['one', 'two'].map((name) => scene.function({ name })),
      eventSources: [
        scene.source({ queue: 'left', function: 'one', batchSize: 1 }),
        scene.source({ queue: 'right', function: 'two', batchSize: 1 }),
      ],
    })
    await scene.began(2)
    assert.equal(await begun(scene), 3)
  })

  test('gives each invocation an environment of its own', async () => {
    const scene = await openLambdaScene()
    await scene.queue()
    await scene.send('one', 'two')
    await scene.run(scene.set({}, { batchSize: 1 }))
    assert.equal((await scene.began(0)).count, 1)
    assert.equal((await scene.began(1)).count, 1)
  })
})

describe('a FIFO queue', () => {
  test('has one batch of a group at work at a time, and several groups side by side', async () => {
    const scene = await openLambdaScene()
    await scene.store.fifoQueue('work.fifo')
    await scene.store.sendToGroup('work.fifo', 'a', 'a1', 'a2')
    await scene.store.sendToGroup('work.fifo', 'b', 'b1')
    await scene.run(scene.set({}, { queue: 'work.fifo', batchSize: 1 }))
    await scene.began(1)
    assert.deepEqual(scene.told.flatMap(bodies).sort(), ['a1', 'b1'])
    assert.equal(await begun(scene), 2)
    for (const told of [...scene.told]) scene.order(told)
    assert.deepEqual(bodies(await scene.began(2)), ['a2'])
  })
})

/** A batch is being collected for five seconds when another one takes the only slot. */
async function overtaken(scene: LambdaScene): Promise<Told> {
  await scene.queue({ visibilityMs: 40 * second }, 'slow')
  await scene.queue({ visibilityMs: 900 * second }, 'fast')
  await scene.run({
    functions: [scene.function({ reservedConcurrency: 1, timeoutMs: 600 * second })],
    eventSources: [
      scene.source({ queue: 'slow', batchingWindowMs: 5 * second }),
      scene.source({ queue: 'fast' }),
    ],
  })
  await scene.store.send('slow', 's')
  await scene.ports.clock.advance(1 * second)
  await scene.store.send('fast', 'f')
  return scene.began(0)
}

describe('a batch that was collected in a window', () => {
  test('waits for a slot, and others may run while it is collected', async () => {
    const scene = await openLambdaScene()
    const fast = await overtaken(scene)
    assert.deepEqual(bodies(fast), ['f'])
    await scene.ports.clock.advance(5 * second)
    assert.equal(await begun(scene), 1)
    scene.order(fast)
    assert.deepEqual(bodies(await scene.began(1)), ['s'])
  })

  test('is handed back at no cost when there is no slot before its leases end', async () => {
    const scene = await openLambdaScene()
    const fast = await overtaken(scene)
    await scene.ports.clock.advance(28 * second)
    assert.equal((await scene.store.counts('slow')).leased, 1)
    await scene.ports.clock.advance(2 * second)
    assert.deepEqual(await scene.store.counts('slow'), { ready: 1, leased: 0, delayed: 0 })
    scene.order(fast)
    await scene.ended()
    await scene.ports.clock.advance(5 * second)
    const [record] = (await scene.began(1)).event.Records
    assert.equal(record?.attributes.ApproximateReceiveCount, '1')
  })
})
