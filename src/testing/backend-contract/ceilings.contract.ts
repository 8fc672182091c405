import assert from 'node:assert/strict'
import { seededRandomness } from '../virtual-clock.ts'
import { ceilings, drain, ofTenant, receiveWithin, sendMany } from './gate-scene.ts'
import { enqueue } from './job-scene.ts'
import { grouped, minute, rejects, type Scene, second } from './scene.ts'
import type { ContractSuite } from './suite.ts'

export function describeCeilings(all: ContractSuite): void {
  const suite = all.needing('ceilings')
  suite.describe('ceilings', () => {
    describeRunning(suite)
    describeTenants(suite)
    describeTypes(suite.needing('trackedJobs'))
    describeRate(suite)
    describeChanges(suite)
  })
}

function describeRunning(suite: ContractSuite): void {
  suite.test(
    'no more messages run than the ceiling allows, whichever receiver takes them',
    async (scene) => {
      await scene.queue('q', ceilings({ running: 2 }))
      await scene.send('q', 'a', 'b', 'c', 'd')
      const [first] = await scene.receive('q', { max: 1 })
      assert.deepEqual(await scene.receiveBodies('q', { max: 10 }), ['b'])
      assert.deepEqual(await scene.receiveBodies('q', { max: 10 }), [])
      assert.deepEqual(await scene.counts('q'), { ready: 2, leased: 2, delayed: 0 })
      await scene.acknowledge('q', first?.receipt ?? '')
      const third = await scene.receiveOne('q', { max: 10 })
      assert.deepEqual([third.body, third.receiveCount], ['c', 1])
    },
  )

  suite.test('a prefetch takes no room that another receiver could use', async (scene) => {
    await scene.queue('q', ceilings({ running: 3 }))
    await scene.send('q', 'a', 'b', 'c', 'd', 'e', 'f')
    assert.deepEqual(await scene.receiveBodies('q', { max: 1, prefetch: 10 }), ['a'])
    assert.deepEqual(await scene.receiveBodies('q', { max: 10 }), ['b', 'c'])
  })

  suite.test('a lease counts until it lapses, and not longer', async (scene) => {
    await scene.queue('q', ceilings({ running: 1 }))
    await scene.send('q', 'a', 'b')
    await scene.receiveOne('q', { visibilityMs: 5 * second })
    await scene.advance(5 * second - 1)
    assert.deepEqual(await scene.receiveBodies('q'), [])
    await scene.advance(1)
    assert.deepEqual(await scene.receiveBodies('q'), ['a'])
  })

  suite.test('a message that waits for its retry does not count', async (scene) => {
    await scene.queue('q', ceilings({ running: 1 }))
    await scene.send('q', 'a', 'b')
    const { receipt } = await scene.receiveOne('q')
    await scene.settle('q', receipt, { kind: 'retry', delayMs: minute })
    const second = await scene.receiveOne('q')
    assert.equal(second.body, 'b')
    await scene.advance(minute)
    assert.deepEqual(await scene.receiveBodies('q'), ['a'], 'both leases have ended by now')
  })

  suite.test('a message that is released, dead-lettered or cut short makes room', async (scene) => {
    await scene.queueWithDeadLetters('q', 5, ceilings({ running: 1 }))
    await scene.send('q', 'a')
    const { receipt: released } = await scene.receiveOne('q')
    await scene.settle('q', released, { kind: 'release' })
    const { receipt: retried } = await scene.receiveOne('q')
    await scene.settle('q', retried, { kind: 'retry', delayMs: 0 })
    const { receipt: cut } = await scene.receiveOne('q')
    await scene.extend('q', cut, 0)
    const { receipt: deadLettered } = await scene.receiveOne('q')
    await scene.settle('q', deadLettered, { kind: 'deadLetter', reason: 'no use' })
    await scene.send('q', 'b')
    assert.equal((await scene.receiveOne('q')).body, 'b')
  })

  suite.needing('fifo').test('a FIFO queue keeps to it as well', async (scene) => {
    await scene.fifoQueue('q.fifo', ceilings({ running: 2 }))
    for (const group of ['x', 'y', 'z']) await scene.send('q.fifo', grouped(group, group))
    const held = await scene.receive('q.fifo', { max: 10 })
    assert.deepEqual(held.map(({ body }) => body).sort(), ['x', 'y'])
    assert.deepEqual(await scene.receiveBodies('q.fifo'), [])
    await scene.acknowledge('q.fifo', held[0]?.receipt ?? '')
    assert.deepEqual(await scene.receiveBodies('q.fifo'), ['z'])
  })

  suite.needing('reopen').test('a ceiling outlives a restart, with what counts', async (scene) => {
    await scene.queue('q', ceilings({ running: 1 }))
    await scene.send('q', 'a', 'b')
    const { receipt } = await scene.receiveOne('q')
    await scene.reopen()
    assert.deepEqual(await scene.receiveBodies('q'), [])
    await scene.acknowledge('q', receipt)
    assert.deepEqual(await scene.receiveBodies('q'), ['b'])
  })
}

function describeTenants(suite: ContractSuite): void {
  const perTenant = (max: number) => ceilings({ runningPerTenant: max })

  suite.test('each tenant has its own ceiling; what has no tenant has none', async (scene) => {
    await scene.queue('q', perTenant(1))
    await scene.send('q', ...ofTenant('x', 'x1', 'x2'), ...ofTenant('y', 'y1', 'y2'), 'free')
    await scene.send('q', 'free too')
    const bodies = await scene.receiveBodies('q', { max: 10 })
    assert.deepEqual(bodies.toSorted(), ['free', 'free too', 'x1', 'y1'])
    assert.deepEqual(await scene.receiveBodies('q', { max: 10 }), [])
    assert.deepEqual(await scene.counts('q'), { ready: 2, leased: 4, delayed: 0 })
  })

  suite.test('tenants are served in turn, each in the order of sending', async (scene) => {
    await scene.queue('q', perTenant(1))
    await scene.send('q', ...ofTenant('x', 'x1', 'x2', 'x3', 'x4'), ...ofTenant('y', 'y1', 'y2'))
    await scene.send('q', ...ofTenant('z', 'z1'))
    const bodies = await drain(scene, 'q', { max: 1 })
    assert.deepEqual(bodies.slice(0, 3).toSorted(), ['x1', 'y1', 'z1'])
    assert.deepEqual(bodies.slice(3, 5).toSorted(), ['x2', 'y2'])
    assert.deepEqual(bodies.slice(5), ['x3', 'x4'])
  })

  suite.test('five thousand messages of one tenant do not hold up another', async (scene) => {
    await scene.queue('q', perTenant(1))
    await sendMany(scene, 'q', 5_000, (index) => ({ body: `x${index}`, group: 'x' }))
    await scene.send('q', ...ofTenant('y', 'y1'))
    const first = await scene.receiveOne('q')
    assert.equal(first.body, 'x0')
    // A receive passes over a thousand messages or so; those behind it find them out of the way.
    const other = await receiveWithin(scene, 'q', 6)
    assert.equal(other.body, 'y1')
    assert.deepEqual(await scene.counts('q'), { ready: 4_999, leased: 2, delayed: 0 })
    await scene.acknowledge('q', first.receipt)
    assert.equal((await scene.receiveOne('q')).body, 'x1')
  })

  suite
    .needing('fifo')
    .test('FIFO queues refuse ceilings that would break their order', async (scene) => {
      await rejects(scene.fifoQueue('q.fifo', perTenant(1)), 'invalid_argument')
      const perType = ceilings({ runningPerType: { OCR: 1 } })
      await rejects(scene.fifoQueue('q.fifo', perType), 'invalid_argument')
    })
}

function describeTypes(suite: ContractSuite): void {
  suite.test('a type with a ceiling does not hold up the others', async (scene) => {
    await scene.queue('q', ceilings({ running: 4, runningPerType: { OCR: 1 } }))
    for (const type of ['OCR', 'OCR', 'OCR', 'OMR', 'OMR']) await enqueue(scene, { type })
    const deliveries = await scene.receive('q', { max: 10 })
    assert.deepEqual(
      deliveries.map(({ job }) => job?.type),
      ['OCR', 'OMR', 'OMR'],
    )
    await scene.acknowledge('q', deliveries[0]?.receipt ?? '')
    assert.equal((await scene.receiveOne('q')).job?.type, 'OCR')
    assert.deepEqual(await scene.receive('q'), [])
  })

  suite.test('types and tenants are counted at the same time', async (scene) => {
    await scene.queue('q', ceilings({ runningPerTenant: 2, runningPerType: { OCR: 2 } }))
    for (const tenant of ['x', 'x', 'x', 'y', 'y']) await enqueue(scene, { type: 'OCR', tenant })
    for (const tenant of ['x', 'x', 'y', 'y']) await enqueue(scene, { type: 'OMR', tenant })
    const deliveries = await scene.receive('q', { max: 10 })
    const count = (type: string, group?: string): number =>
      deliveries.filter(
        (delivery) =>
          delivery.job?.type === type && (group === undefined || delivery.group === group),
      ).length
    assert.equal(count('OCR'), 2)
    assert.equal(count('OCR', 'x') + count('OMR', 'x'), 2)
    assert.equal(count('OCR', 'y') + count('OMR', 'y'), 2)
    assert.deepEqual(await scene.receive('q'), [])
  })

  suite.test('a type may have the name of something that every object has', async (scene) => {
    await scene.queue('q', ceilings({ runningPerType: { OCR: 1 } }))
    for (const type of ['constructor', 'constructor']) await enqueue(scene, { type })
    assert.equal((await scene.receive('q')).length, 2)
  })
}

function describeRate(suite: ContractSuite): void {
  suite.test('no more are taken than the rate allows, and the rest later', async (scene) => {
    await scene.queue('q', ceilings({ rate: { max: 3, perMs: second } }))
    await scene.send('q', 'a', 'b', 'c', 'd')
    assert.deepEqual(await scene.receiveBodies('q'), ['a', 'b', 'c'])
    await scene.advance(second)
    assert.deepEqual(await scene.receiveBodies('q'), [], 'the window has a margin for slow starts')
    await scene.advance(second / 20)
    assert.deepEqual(await scene.receiveBodies('q'), ['d'])
  })

  suite.test('the rate holds within any span, whenever messages come', async (scene) => {
    const rate = { max: 5, perMs: 2 * second }
    await scene.queue('q', ceilings({ rate }))
    const randomness = seededRandomness(7)
    const upTo = (max: number): number => Math.floor(randomness.next() * max) + 1
    const claimedAt: number[] = []
    let now = 0
    for (let step = 0; step < 300; step += 1) {
      await scene.send('q', ...Array.from({ length: upTo(2) }, () => 'body'))
      for (const { receipt } of await scene.receive('q', { max: upTo(6) })) {
        claimedAt.push(now)
        await scene.acknowledge('q', receipt)
      }
      const passed = upTo(700)
      await scene.advance(passed)
      now += passed
    }
    for (const [index, at] of claimedAt.entries()) {
      const next = claimedAt[index + rate.max]
      assert.ok(next === undefined || next - at > rate.perMs, `too many between ${at} and ${next}`)
    }
    const possible = (now / rate.perMs) * rate.max
    assert.ok(claimedAt.length > possible * 0.75, `only ${claimedAt.length} of ${possible}`)
  })

  suite.needing('reopen').test('the rate outlives a restart', async (scene) => {
    await scene.queue('q', ceilings({ rate: { max: 1, perMs: minute } }))
    await scene.send('q', 'a', 'b')
    await scene.receiveOne('q')
    await scene.reopen()
    assert.deepEqual(await scene.receiveBodies('q'), [])
    await scene.advance(minute + second)
    assert.deepEqual(await scene.receiveBodies('q', { max: 1 }), ['a'])
  })

  suite.needing('fifo').test('a FIFO queue keeps to its rate as well', async (scene) => {
    await scene.fifoQueue('q.fifo', ceilings({ rate: { max: 2, perMs: second } }))
    await scene.sendToGroup('q.fifo', 'g', 'a', 'b', 'c')
    assert.deepEqual(await drain(scene, 'q.fifo'), ['a', 'b'])
    await scene.advance(2 * second)
    assert.deepEqual(await drain(scene, 'q.fifo'), ['c'])
  })
}

function describeChanges(suite: ContractSuite): void {
  const change = (scene: Scene, settings: ReturnType<typeof ceilings>): Promise<unknown> =>
    scene.backend.changeQueue({ queue: 'q', changes: settings })

  suite.test('a ceiling that is set counts what runs already', async (scene) => {
    await scene.queue('q')
    await scene.send('q', 'a', 'b', 'c', 'd')
    const held = await scene.receive('q', { max: 2 })
    await change(scene, ceilings({ running: 2 }))
    assert.deepEqual(await scene.receiveBodies('q'), [])
    await scene.acknowledge('q', held[0]?.receipt ?? '')
    assert.deepEqual(await scene.receiveBodies('q'), ['c'])
  })

  suite
    .needing('ordered')
    .test('without its ceiling the queue gives out all that waits, in order', async (scene) => {
      await scene.queue('q', ceilings({ runningPerTenant: 1 }))
      await scene.send('q', ...ofTenant('x', 'x1', 'x2'), ...ofTenant('y', 'y1', 'y2'))
      assert.equal((await scene.receive('q', { max: 10 })).length, 2)
      await change(scene, ceilings({}))
      await scene.send('q', ...ofTenant('x', 'x3'), 'free')
      assert.deepEqual(await scene.receiveBodies('q', { max: 10 }), ['x2', 'y2', 'x3', 'free'])
    })

  suite.test('equal ceilings are the same queue, others are not', async (scene) => {
    const settings = ceilings({ running: 3, runningPerType: { a: 1, b: 2 } })
    await scene.queue('q', settings)
    const again = ceilings({ running: 3, runningPerType: { b: 2, a: 1 } })
    const { created } = await scene.backend.createQueue({ queue: 'q', settings: again })
    assert.equal(created, false)
    await rejects(scene.queue('q', ceilings({ running: 4 })), 'queue_exists')
  })

  suite.test('ceilings that cannot be are refused', async (scene) => {
    for (const wrong of [
      { running: 0 },
      { runningPerTenant: 1.5 },
      { runningPerType: { OCR: 0 } },
      { rate: { max: 1, perMs: 99 } },
      { rate: { max: 0, perMs: 100 } },
    ]) {
      await rejects(scene.queue('q', ceilings(wrong)), 'invalid_argument')
    }
  })
}
