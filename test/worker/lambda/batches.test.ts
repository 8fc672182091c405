import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { bodies, openLambdaScene } from './lambda-scene.ts'

const second = 1_000

describe('a batch', () => {
  test('is what one receive gave when there is no batching window', async () => {
    const scene = await openLambdaScene()
    await scene.queue()
    await scene.send('one', 'two', 'three')
    await scene.run(scene.set({}, { batchSize: 2 }))
    await scene.began(1)
    // Two threads start at the same time; either may be first.
    assert.deepEqual(scene.told.map(bodies).sort(), [['one', 'two'], ['three']])
  })

  test('collects until its window is over, which begins with its first message', async () => {
    const scene = await openLambdaScene()
    await scene.queue()
    await scene.run(scene.set({}, { batchSize: 10, batchingWindowMs: 20 * second }))
    await scene.ports.clock.advance(60 * second)
    await scene.send('one')
    await scene.ports.clock.advance(12 * second)
    await scene.send('two')
    await scene.ports.clock.advance(7 * second)
    assert.equal(scene.begun(), 0, 'it was invoked before the end of its window')
    await scene.ports.clock.advance(1 * second)
    assert.deepEqual(bodies(await scene.began()), ['one', 'two'])
  })

  test('does not wait for its window once it is full', async () => {
    const scene = await openLambdaScene()
    await scene.queue()
    await scene.run(scene.set({}, { batchSize: 2, batchingWindowMs: 300 * second }))
    await scene.send('one')
    await scene.ports.clock.advance(1 * second)
    await scene.send('two', 'three')
    assert.deepEqual(bodies(await scene.began()), ['one', 'two'])
    assert.equal(scene.reports.length, 0)
  })

  test('can be as large as ten thousand messages', async () => {
    const scene = await openLambdaScene()
    await scene.queue()
    const all = Array.from({ length: 10_000 }, (_, index) => `m-${index}`)
    for (let from = 0; from < all.length; from += 1_000) {
      await scene.send(...all.slice(from, from + 1_000))
    }
    await scene.run(scene.set({}, { batchSize: 10_000, batchingWindowMs: 1 * second }))
    const told = await scene.began()
    assert.deepEqual(bodies(told), all)
    scene.order(told)
    const report = await scene.ended()
    assert.deepEqual([report.records, report.acknowledged], [10_000, 10_000])
    assert.equal((await scene.store.counts('work')).leased, 0)
  })

  test('is complete at six megabytes; what is over comes next, at no cost of a receive', async () => {
    const scene = await openLambdaScene()
    await scene.queue()
    const large = (name: string): string => name.padEnd(1_000_000, '.')
    const names = ['1', '2', '3', '4', '5', '6', '7', '8']
    await scene.send(...names.map(large))
    await scene.run(scene.set({ reservedConcurrency: 1 }, { batchSize: 10 }))
    const first = await scene.began(0)
    scene.order(first)
    const next = await scene.began(1)
    const initials = [...bodies(first), ...bodies(next)].map((body) => body.slice(0, 1))
    assert.deepEqual(initials, names)
    assert.equal(first.event.Records.length, 6)
    for (const { attributes } of next.event.Records) {
      assert.equal(attributes.ApproximateReceiveCount, '1')
    }
  })

  test('asks for no more than will fit when it collects', async () => {
    const receives: number[] = []
    const scene = await openLambdaScene({
      wrap: (backend) => ({
        ...backend,
        receive: (request) => {
          receives.push(request.max)
          return backend.receive(request)
        },
      }),
    })
    await scene.queue()
    await scene.send(...Array.from({ length: 30 }, () => '.'.repeat(300_000)))
    await scene.run(scene.set({}, { batchSize: 1_000, batchingWindowMs: 10 * second }))
    const { event } = await scene.began()
    assert.equal(event.Records.length, 20)
    assert.ok(Math.max(...receives) <= 11, `received ${receives}`)
  })

  test('leases each message from its receive on for the visibility timeout of the queue', async () => {
    const scene = await openLambdaScene()
    await scene.queue({ visibilityMs: 30 * second })
    await scene.send('one')
    await scene.run(scene.set({ timeoutMs: 60 * second }, { batchingWindowMs: 20 * second }))
    await scene.ports.clock.advance(15 * second)
    await scene.send('two')
    await scene.ports.clock.advance(5 * second)
    assert.deepEqual(bodies(await scene.began()), ['one', 'two'])
    await scene.runtime.reload({ functions: [], eventSources: [] })
    await scene.ports.clock.advance(11 * second)
    assert.deepEqual(await scene.store.receiveBodies('work'), ['one'])
    await scene.ports.clock.advance(14 * second)
    assert.deepEqual(await scene.store.receiveBodies('work'), ['two'])
  })

  test('holds messages of several groups of a FIFO queue', async () => {
    const scene = await openLambdaScene()
    await scene.store.fifoQueue('work.fifo')
    await scene.store.sendToGroup('work.fifo', 'a', 'a1', 'a2')
    await scene.store.sendToGroup('work.fifo', 'b', 'b1')
    await scene.run(scene.set({}, { queue: 'work.fifo' }))
    assert.deepEqual(bodies(await scene.began()), ['a1', 'a2', 'b1'])
  })
})

describe('filters', () => {
  test('delete what does not match, and count it', async () => {
    const scene = await openLambdaScene()
    await scene.queue()
    await scene.send('{"kind":"a"}', '{"kind":"b"}', 'text', '{"kind":"a","n":2}')
    await scene.run(scene.set({}, { filters: [{ body: { kind: ['a'] } }] }))
    const told = await scene.began()
    assert.deepEqual(bodies(told), ['{"kind":"a"}', '{"kind":"a","n":2}'])
    assert.equal((await scene.store.counts('work')).leased, 2)
    assert.equal(scene.runtime.sources[0]?.filteredOut, 2)
    assert.equal((await scene.store.statistics('work')).totals.acknowledged, 2)
  })

  test('do not invoke a function for nothing', async () => {
    const scene = await openLambdaScene()
    await scene.queue()
    await scene.send('no', 'no')
    await scene.run(scene.set({}, { filters: [{ body: ['yes'] }] }))
    await scene.until('both are gone', () => scene.runtime.sources[0]?.filteredOut === 2)
    await scene.send('yes')
    assert.deepEqual(bodies(await scene.began()), ['yes'])
    assert.equal(scene.begun(), 1)
  })

  test('decide before a window begins', async () => {
    const scene = await openLambdaScene()
    await scene.queue()
    await scene.run(scene.set({}, { batchingWindowMs: 20 * second, filters: [{ body: ['yes'] }] }))
    await scene.send('no')
    await scene.ports.clock.advance(15 * second)
    await scene.send('yes')
    await scene.ports.clock.advance(19 * second)
    assert.equal(scene.begun(), 0)
    await scene.ports.clock.advance(1 * second)
    assert.deepEqual(bodies(await scene.began()), ['yes'])
  })
})
