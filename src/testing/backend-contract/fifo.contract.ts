import assert from 'node:assert/strict'
import type { Delivery } from '../../backends/backend.ts'
import { assertRefused, grouped, minute, only, rejects, type Scene, second } from './scene.ts'
import type { ContractSuite } from './suite.ts'

export function describeFifo(all: ContractSuite): void {
  const suite = all.needing('fifo')
  suite.describe('FIFO queues', () => {
    describeOrder(suite)
    describeGroupLock(suite)
    describeGivingWay(suite)
  })
}

const queue = 'q.fifo'

/** Receives the first messages of group `g`, which was filled with `bodies`. */
async function leasedHead(
  scene: Scene,
  bodies: readonly string[],
  max = 1,
): Promise<readonly Delivery[]> {
  await scene.fifoQueue(queue, { visibilityMs: 10 * second })
  await scene.sendToGroup(queue, 'g', ...bodies)
  return await scene.receive(queue, { max })
}

function describeOrder(suite: ContractSuite): void {
  suite.test('messages of a group come in the order in which they were sent', async (scene) => {
    await scene.fifoQueue(queue)
    const bodies = Array.from({ length: 25 }, (_, index) => `m${index}`)
    await Promise.all(bodies.map((body) => scene.sendToGroup(queue, 'g', body)))
    const seen: string[] = []
    for (;;) {
      const deliveries = await scene.receive(queue, { max: 4 })
      if (deliveries.length === 0) break
      seen.push(...deliveries.map(({ body }) => body))
      for (const { receipt } of deliveries) await scene.acknowledge(queue, receipt)
    }
    assert.deepEqual(seen, bodies)
  })

  suite.test(
    'one receive takes several of a group, and drains it before the next group',
    async (scene) => {
      await scene.fifoQueue(queue)
      const order = [
        ['a', 'a1'],
        ['b', 'b1'],
        ['a', 'a2'],
        ['c', 'c1'],
        ['b', 'b2'],
      ] as const
      for (const [group, body] of order) await scene.sendToGroup(queue, group, body)
      assert.deepEqual(await scene.receiveBodies(queue, { max: 4 }), ['a1', 'a2', 'b1', 'b2'])
      assert.deepEqual(await scene.receiveBodies(queue, { max: 4 }), ['c1'])
    },
  )

  suite.test('sequence numbers rise across groups, and deliveries carry them', async (scene) => {
    await scene.fifoQueue(queue)
    await scene.sendToGroup(queue, 'a', 'a1')
    await scene.sendToGroup(queue, 'b', 'b1')
    const [a, b] = await scene.receive(queue)
    assert.ok(a && b && a.sequence < b.sequence)
    assert.deepEqual([a.group, b.group], ['a', 'b'])
  })

  suite.test(
    'a message without a group, or without a deduplication id, is refused',
    async (scene) => {
      await scene.fifoQueue(queue)
      assertRefused(
        await scene.sendOne(queue, { body: 'x', deduplicationId: 'd' }),
        'message_group_missing',
      )
      assertRefused(
        await scene.sendOne(queue, { body: 'x', group: 'g' }),
        'deduplication_id_missing',
      )
      for (const group of ['', 'g'.repeat(129), 'with space', 'ü']) {
        assertRefused(
          await scene.sendOne(queue, { body: 'x', group, deduplicationId: 'd' }),
          'invalid_argument',
        )
      }
    },
  )

  suite.test('the name of a queue tells its type', async (scene) => {
    await rejects(scene.queue('plain.fifo', { type: 'standard' }), 'invalid_argument')
    await rejects(scene.queue('plain', { type: 'fifo' }), 'invalid_argument')
  })
}

function describeGroupLock(suite: ContractSuite): void {
  suite.test('nothing of a group is given out behind one that is in flight', async (scene) => {
    await leasedHead(scene, ['one', 'two'])
    await scene.sendToGroup(queue, 'other', 'free')
    assert.deepEqual(await scene.receiveBodies(queue), ['free'])
    assert.deepEqual(await scene.receiveBodies(queue), [])
  })

  suite.test('a new send does not unlock a busy group', async (scene) => {
    await leasedHead(scene, ['one'])
    await scene.sendToGroup(queue, 'g', 'two')
    assert.deepEqual(await scene.receiveBodies(queue), [])
    await scene.sendToGroup(queue, 'g', 'three')
    assert.deepEqual(await scene.receiveBodies(queue), [])
  })

  suite.test('an acknowledgement lets the next one through', async (scene) => {
    const [head] = await leasedHead(scene, ['one', 'two', 'three'])
    assert.ok(head)
    await scene.acknowledge(queue, head.receipt)
    assert.deepEqual(await scene.receiveBodies(queue), ['two', 'three'])
  })

  suite.test('a group of which only a part was acknowledged stays locked', async (scene) => {
    const [one, two] = await leasedHead(scene, ['one', 'two', 'three'], 2)
    assert.ok(one && two)
    await scene.acknowledge(queue, two.receipt)
    assert.deepEqual(await scene.receiveBodies(queue), [])
    await scene.settle(queue, one.receipt, { kind: 'retry', delayMs: 0 })
    assert.deepEqual(await scene.receiveBodies(queue), ['one', 'three'])
  })

  suite.test('a lapsed group starts again at its head', async (scene) => {
    const [one] = await leasedHead(scene, ['one', 'two', 'three'], 2)
    assert.ok(one)
    await scene.acknowledge(queue, one.receipt)
    await scene.advance(11 * second)
    assert.deepEqual(await scene.receiveBodies(queue), ['two', 'three'])
  })

  suite.test('an extended head keeps the rest of its group back', async (scene) => {
    const [one] = await leasedHead(scene, ['one', 'two', 'three'], 3)
    assert.ok(one)
    await scene.extend(queue, one.receipt, minute)
    await scene.advance(11 * second)
    assert.deepEqual(await scene.receiveBodies(queue), [])
    await scene.advance(minute)
    assert.deepEqual(await scene.receiveBodies(queue), ['one', 'two', 'three'])
  })

  suite.test('a group gives out what lies before its first message in flight', async (scene) => {
    const [one, two] = await leasedHead(scene, ['one', 'two', 'three', 'four'], 3)
    assert.ok(one && two)
    await scene.extend(queue, two.receipt, minute)
    await scene.advance(11 * second)
    assert.deepEqual(await scene.receiveBodies(queue), ['one'])
    await scene.acknowledge(queue, two.receipt)
    assert.deepEqual(await scene.receiveBodies(queue), [])
    await scene.advance(11 * second)
    assert.deepEqual(await scene.receiveBodies(queue), ['one', 'three', 'four'])
  })

  suite.test('a released head is delivered again while others are in flight', async (scene) => {
    const [one] = await leasedHead(scene, ['one', 'two', 'three'], 2)
    assert.ok(one)
    await scene.sendToGroup(queue, 'other', 'free')
    await scene.settle(queue, one.receipt, { kind: 'retry', delayMs: 0 })
    assert.deepEqual(await scene.receiveBodies(queue), ['free', 'one'])
  })

  suite.test(
    'a group that became ready again is behind those that were not served',
    async (scene) => {
      await scene.fifoQueue(queue)
      for (const body of ['a1', 'b1', 'b2', 'c1', 'a2']) {
        await scene.sendToGroup(queue, body.slice(0, 1), body)
      }
      const first = await scene.receiveBodies(queue, { max: 3, visibilityMs: 0 })
      assert.deepEqual(first, ['a1', 'a2', 'b1'])
      await scene.sendToGroup(queue, 'c', 'c2')
      await scene.advance(second)
      await scene.sendToGroup(queue, 'd', 'd1')
      assert.deepEqual(await scene.receiveBodies(queue, { max: 7 }), [
        'c1',
        'c2',
        'a1',
        'a2',
        'b1',
        'b2',
        'd1',
      ])
    },
  )

  suite.test('a lease cut short restarts its group at the head', async (scene) => {
    const [one] = await leasedHead(scene, ['one', 'two'])
    assert.ok(one)
    await scene.extend(queue, one.receipt, 0)
    assert.deepEqual(await scene.receiveBodies(queue), ['one', 'two'])
  })

  suite.test('a retry with a delay keeps its group locked until it is due', async (scene) => {
    const [one] = await leasedHead(scene, ['one', 'two'])
    assert.ok(one)
    await scene.settle(queue, one.receipt, { kind: 'retry', delayMs: minute })
    await scene.advance(59 * second)
    assert.deepEqual(await scene.receiveBodies(queue), [])
    await scene.advance(2 * second)
    assert.deepEqual(await scene.receiveBodies(queue), ['one', 'two'])
  })

  suite.test('a released head goes back to its place', async (scene) => {
    const [one] = await leasedHead(scene, ['one', 'two'])
    assert.ok(one)
    await scene.settle(queue, one.receipt, { kind: 'release' })
    const again = await scene.receive(queue)
    assert.deepEqual(
      again.map(({ body, receiveCount }) => [body, receiveCount]),
      [
        ['one', 1],
        ['two', 1],
      ],
    )
  })

  suite.test('a receive with a visibility of 0 leaves its group open', async (scene) => {
    await scene.fifoQueue(queue)
    await scene.sendToGroup(queue, 'g', 'one', 'two')
    assert.deepEqual(await scene.receiveBodies(queue, { max: 1, visibilityMs: 0 }), ['one'])
    assert.deepEqual(await scene.receiveBodies(queue), ['one', 'two'])
  })

  suite.needing('reopen').test('a locked group is still locked after a restart', async (scene) => {
    const [one] = await leasedHead(scene, ['one', 'two'])
    assert.ok(one)
    await scene.reopen()
    assert.deepEqual(await scene.receiveBodies(queue), [])
    await scene.acknowledge(queue, one.receipt)
    assert.deepEqual(await scene.receiveBodies(queue), ['two'])
  })
}

function describeGivingWay(suite: ContractSuite): void {
  suite.test('a dead-lettered head gives way to the next of its group', async (scene) => {
    const dead = await scene.queueWithDeadLetters(queue, 1, { type: 'fifo', visibilityMs: second })
    await scene.sendToGroup(queue, 'g', 'poison', 'healthy')
    await scene.receiveOne(queue)
    await scene.advance(2 * second)
    assert.deepEqual(await scene.receiveBodies(queue), ['healthy'])
    assert.deepEqual(await scene.receiveBodies(dead), ['poison'])
  })

  suite.test('a dead-lettered head gives way to the next of its group', async (scene) => {
    const dead = await scene.queueWithDeadLetters(queue, 3, { type: 'fifo' })
    await scene.sendToGroup(queue, 'g', 'poison', 'healthy')
    const { receipt } = await scene.receiveOne(queue)
    await scene.settle(queue, receipt, { kind: 'deadLetter', reason: 'poison' })
    assert.deepEqual(await scene.receiveBodies(queue), ['healthy'])
    assert.deepEqual(await scene.receiveBodies(dead), ['poison'])
  })

  suite.test('an expired head gives way to the next of its group', async (scene) => {
    await scene.fifoQueue(queue, { retentionMs: minute })
    await scene.sendToGroup(queue, 'g', 'old')
    await scene.receiveOne(queue, { visibilityMs: 10 * minute })
    await scene.advance(30 * second)
    await scene.sendToGroup(queue, 'g', 'young')
    assert.deepEqual(await scene.receiveBodies(queue), [])
    await scene.advance(31 * second)
    assert.deepEqual(await scene.receiveBodies(queue), ['young'])
  })

  suite.test('messages that die on the way do not make a receive smaller', async (scene) => {
    await scene.queueWithDeadLetters(queue, 1, { type: 'fifo', visibilityMs: second })
    await scene.sendToGroup(queue, 'g', 'poison')
    await scene.receiveOne(queue)
    await scene.sendToGroup(queue, 'g', 'one', 'two')
    await scene.advance(2 * second)
    assert.deepEqual(await scene.receiveBodies(queue, { max: 2 }), ['one', 'two'])
  })

  /** Leases 'one' of the group in a receive that dead-letters 'two', right behind it. */
  const leasedBeforeDeath = async (scene: Scene): Promise<Delivery> => {
    await scene.queueWithDeadLetters(queue, 2, { type: 'fifo', visibilityMs: 10 * second })
    await scene.sendToGroup(queue, 'g', 'one', 'two')
    for (let round = 0; round < 2; round += 1) {
      const [one, two] = await scene.receive(queue, { max: 2 })
      assert.ok(one && two)
      await scene.settle(queue, one.receipt, { kind: 'release' })
      await scene.settle(queue, two.receipt, { kind: 'retry', delayMs: 0 })
    }
    const delivery = only(await scene.receive(queue, { max: 2 }))
    assert.equal(delivery.body, 'one')
    return delivery
  }

  suite.test('a death behind a delivered message leaves the group locked', async (scene) => {
    const { receipt } = await leasedBeforeDeath(scene)
    await scene.sendToGroup(queue, 'g', 'three')
    assert.deepEqual(await scene.receiveBodies(queue), [])
    await scene.acknowledge(queue, receipt)
    assert.deepEqual(await scene.receiveBodies(queue), ['three'])
  })

  suite.test(
    'a message before a dead letter is delivered again when its lease expires',
    async (scene) => {
      await leasedBeforeDeath(scene)
      await scene.advance(11 * second)
      assert.deepEqual(await scene.receiveBodies(queue), ['one'])
    },
  )

  suite.test('messages that have expired do not make a receive smaller', async (scene) => {
    await scene.fifoQueue(queue, { retentionMs: minute })
    await scene.sendToGroup(queue, 'g', 'old')
    await scene.advance(30 * second)
    await scene.sendToGroup(queue, 'g', 'one', 'two')
    await scene.advance(31 * second)
    assert.deepEqual(await scene.receiveBodies(queue, { max: 2 }), ['one', 'two'])
  })

  suite.test('an expired head gives its group no precedence over another', async (scene) => {
    await scene.fifoQueue(queue, { retentionMs: minute })
    await scene.sendToGroup(queue, 'a', 'old')
    await scene.advance(30 * second)
    await scene.sendToGroup(queue, 'b', 'second')
    await scene.sendToGroup(queue, 'a', 'third')
    await scene.advance(31 * second)
    assert.deepEqual(await scene.receiveBodies(queue, { max: 1 }), ['second'])
  })

  suite.test('a message that is still delayed does not lock its group', async (scene) => {
    await scene.fifoQueue(queue)
    await scene.send(queue, grouped('g', 'first'))
    await scene.backend.changeQueue({ queue, changes: { delayMs: minute } })
    await scene.send(queue, grouped('g', 'delayed'))
    await scene.backend.changeQueue({ queue, changes: { delayMs: 0 } })
    await scene.send(queue, grouped('g', 'last'))
    assert.deepEqual(await scene.receiveBodies(queue), ['first', 'last'])
    assert.deepEqual(await scene.counts(queue), { ready: 0, leased: 2, delayed: 1 })
  })

  suite.test('a purged group starts anew', async (scene) => {
    await leasedHead(scene, ['one', 'two'])
    await scene.backend.purgeQueue({ queue })
    await scene.sendToGroup(queue, 'g', 'three')
    assert.deepEqual(await scene.receiveBodies(queue), ['three'])
  })
}
