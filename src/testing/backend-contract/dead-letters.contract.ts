import assert from 'node:assert/strict'
import type { MessageAttribute } from '../../backends/backend.ts'
import { enqueue, readJob } from './job-scene.ts'
import { assertRefused, minute, type Scene, second } from './scene.ts'
import type { ContractSuite } from './suite.ts'

export function describeDeadLetters(suite: ContractSuite): void {
  suite.describe('dead letters', () => {
    describeMoving(suite)
    describeWhatIsKept(suite)
    describeLostTargets(suite)
    describeOwnTarget(suite)
  })
}

/** Receives what is there and lets the leases lapse, so many times. */
async function wearOut(scene: Scene, queue: string, times: number): Promise<void> {
  for (let round = 0; round < times; round += 1) {
    await scene.receive(queue, { visibilityMs: second })
    await scene.advance(2 * second)
  }
}

function describeOwnTarget(suite: ContractSuite): void {
  const ownTarget = async (scene: Scene): Promise<void> => {
    await scene.queue('q')
    const changes = { deadLetter: { queue: 'q', maxReceives: 2 } }
    await scene.backend.changeQueue({ queue: 'q', changes })
    // It may be said again, as tools do that write all settings.
    await scene.backend.changeQueue({ queue: 'q', changes })
  }

  suite.test(
    'a queue that is its own target keeps giving out a worn-out message',
    async (scene) => {
      await ownTarget(scene)
      await scene.send('q', 'poison')
      await wearOut(scene, 'q', 4)
      const { receipt, receiveCount, deadLetterOrigin: deadLetter } = await scene.receiveOne('q')
      assert.deepEqual([receiveCount, deadLetter], [5, null])
      const unreadable = { kind: 'deadLetter', reason: 'unreadable' } as const
      assertRefused(await scene.settle('q', receipt, unreadable), 'dead_letter_missing')
      assert.equal((await scene.acknowledge('q', receipt)).status, 'settled')
      assert.equal((await scene.statistics('q')).totals.deadLettered, 0)
    },
  )

  suite.test('a queue that is its own target may be the target of others', async (scene) => {
    await ownTarget(scene)
    await scene.queue('source', { deadLetter: { queue: 'q', maxReceives: 1 } })
    await scene.send('source', 'poison')
    await wearOut(scene, 'source', 1)
    assert.deepEqual(await scene.receiveBodies('source'), [])
    assert.deepEqual(await scene.receiveBodies('q'), ['poison'])
  })

  suite.needing('trackedJobs').test('a job of such a queue fails for good', async (scene) => {
    await ownTarget(scene)
    const { id } = await enqueue(scene, { maxAttempts: 1 })
    await wearOut(scene, 'q', 1)
    assert.deepEqual(await scene.receiveBodies('q'), [])
    assert.equal((await readJob(scene, id)).status, 'failed')
  })
}

function describeMoving(suite: ContractSuite): void {
  suite.test(
    'a message dies on the receive after the last one allowed, not before',
    async (scene) => {
      const dead = await scene.queueWithDeadLetters('q', 2)
      await scene.send('q', 'poison')
      await wearOut(scene, 'q', 2)
      await scene.sweep()
      assert.deepEqual(await scene.counts('q'), { ready: 1, leased: 0, delayed: 0 })
      assert.equal((await scene.counts(dead)).ready, 0)
      assert.deepEqual(await scene.receiveBodies('q'), [])
      assert.deepEqual(await scene.counts('q'), { ready: 0, leased: 0, delayed: 0 })
      assert.deepEqual(await scene.counts(dead), { ready: 1, leased: 0, delayed: 0 })
      assert.equal((await scene.statistics('q')).totals.deadLettered, 1)
    },
  )

  suite.test('a receive continues to healthy messages behind dead letters', async (scene) => {
    const dead = await scene.queueWithDeadLetters('q', 1)
    await scene.send('q', 'p1', 'p2', 'p3')
    await wearOut(scene, 'q', 1)
    await scene.send('q', 'healthy')
    assert.deepEqual(await scene.receiveBodies('q', { max: 1 }), ['healthy'])
    assert.deepEqual(await scene.receiveBodies(dead), ['p1', 'p2', 'p3'])
  })

  suite.test('a lowered maxReceives counts at the next receive', async (scene) => {
    const dead = await scene.queueWithDeadLetters('q', 10)
    await scene.send('q', 'poison')
    await wearOut(scene, 'q', 3)
    await scene.backend.changeQueue({
      queue: 'q',
      changes: { deadLetter: { queue: dead, maxReceives: 2 } },
    })
    assert.deepEqual(await scene.receiveBodies('q'), [])
    assert.deepEqual(await scene.receiveBodies(dead), ['poison'])
  })

  suite.test(
    'a waiting receive on the dead-letter queue is woken by a dead letter',
    async (scene) => {
      const dead = await scene.queueWithDeadLetters('q', 1)
      await scene.send('q', 'poison')
      await wearOut(scene, 'q', 1)
      const answer = scene.receive(dead, { waitMs: 20 * second })
      await scene.advance(second)
      await scene.receive('q')
      assert.deepEqual(
        (await answer).map(({ body }) => body),
        ['poison'],
      )
    },
  )

  suite.test('dead letters can themselves die, into the next queue', async (scene) => {
    await scene.queue('last')
    await scene.queue('middle', { deadLetter: { queue: 'last', maxReceives: 3 } })
    await scene.queue('first', { deadLetter: { queue: 'middle', maxReceives: 1 } })
    await scene.send('first', 'poison')
    await wearOut(scene, 'first', 2)
    await wearOut(scene, 'middle', 4)
    const delivery = await scene.receiveOne('last')
    assert.equal(delivery.body, 'poison')
    assert.equal(delivery.deadLetterOrigin?.source, 'middle')
  })
}

function describeWhatIsKept(suite: ContractSuite): void {
  suite
    .needing('exactFigures')
    .test(
      'a dead letter keeps id, attributes, count and time, and names its source',
      async (scene) => {
        const dead = await scene.queueWithDeadLetters('q', 1)
        const attributes: Record<string, MessageAttribute> = {
          name: { type: 'String', value: 'v' },
        }
        const [id] = await scene.send('q', {
          body: 'poison',
          attributes,
          systemAttributes: { sender: 'me' },
          group: 'tenant',
        })
        const original = await scene.receiveOne('q', { visibilityMs: second })
        await scene.advance(minute)
        await scene.receive('q')
        const letter = await scene.receiveOne(dead)
        assert.equal(letter.id, id)
        assert.deepEqual({ ...letter.attributes }, attributes)
        assert.deepEqual({ ...letter.systemAttributes }, { sender: 'me' })
        assert.equal(letter.group, 'tenant')
        assert.equal(letter.sentAt, original.sentAt)
        assert.equal(letter.firstReceivedAt, original.firstReceivedAt)
        assert.equal(letter.receiveCount, original.receiveCount + 1)
        assert.equal(letter.deadLetterOrigin?.source, 'q')
        assert.equal(letter.deadLetterOrigin?.reason, null)
        assert.ok((letter.deadLetterOrigin?.at ?? 0) >= original.sentAt + minute)
      },
    )

  suite.test('large messages die whole', async (scene) => {
    const dead = await scene.queueWithDeadLetters('q', 1)
    const body = 'large '.repeat(20_000)
    await scene.send('q', body)
    await wearOut(scene, 'q', 2)
    assert.ok((await scene.receiveOne(dead)).body === body)
  })

  suite
    .needing('exactFigures')
    .test('retention of a standard queue continues in the dead-letter queue', async (scene) => {
      const dead = await scene.queueWithDeadLetters('q', 1)
      await scene.backend.changeQueue({ queue: dead, changes: { retentionMs: minute } })
      await scene.send('q', 'poison')
      await scene.advance(50 * second)
      await wearOut(scene, 'q', 1)
      await scene.receive('q')
      assert.equal((await scene.counts(dead)).ready, 1)
      await scene.advance(10 * second)
      await scene.sweep()
      assert.deepEqual(await scene.receiveBodies(dead), [])
    })

  suite
    .needing('exactFigures')
    .test('an old dead letter expires also behind one that died before it', async (scene) => {
      const dead = await scene.queueWithDeadLetters('q', 1)
      await scene.backend.changeQueue({ queue: dead, changes: { retentionMs: minute } })
      await scene.send('q', 'old')
      const old = await scene.receiveOne('q', { visibilityMs: minute })
      await scene.advance(40 * second)
      await scene.send('q', 'young')
      const young = await scene.receiveOne('q')
      await scene.settle('q', young.receipt, { kind: 'deadLetter', reason: 'first' })
      await scene.settle('q', old.receipt, { kind: 'deadLetter', reason: 'second' })
      await scene.advance(25 * second)
      await scene.sweep()
      assert.deepEqual(await scene.counts(dead), { ready: 1, leased: 0, delayed: 0 })
      assert.deepEqual(await scene.receiveBodies(dead), ['young'])
    })

  suite
    .needing('fifo')
    .test('on FIFO queues the time starts anew and the message id deduplicates', async (scene) => {
      const dead = await scene.queueWithDeadLetters('q.fifo', 1, { type: 'fifo' })
      const [id] = await scene.sendToGroup('q.fifo', 'g', 'poison')
      const original = await scene.receiveOne('q.fifo', { visibilityMs: second })
      await scene.advance(minute)
      await scene.receive('q.fifo')
      const letter = await scene.receiveOne(dead)
      assert.deepEqual([letter.id, letter.deduplicationId, letter.group], [id, id, 'g'])
      assert.ok(letter.sentAt >= original.sentAt + minute)
    })

  suite.needing('fifo').test('dead letters of a group keep their order', async (scene) => {
    const dead = await scene.queueWithDeadLetters('q.fifo', 1, { type: 'fifo' })
    await scene.sendToGroup('q.fifo', 'g', 'one', 'two', 'three')
    await wearOut(scene, 'q.fifo', 2)
    assert.deepEqual(await scene.receiveBodies(dead), ['one', 'two', 'three'])
  })
}

function describeLostTargets(suite: ContractSuite): void {
  suite.test(
    'when the dead-letter queue was deleted, a message stays where it is',
    async (scene) => {
      const dead = await scene.queueWithDeadLetters('q', 1)
      await scene.send('q', 'survivor')
      await wearOut(scene, 'q', 1)
      await scene.backend.deleteQueue({ queue: dead })
      assert.equal((await scene.receiveOne('q', { visibilityMs: second })).receiveCount, 2)
      await scene.advance(2 * second)
      assert.equal((await scene.receiveOne('q')).receiveCount, 3)
      assert.equal((await scene.statistics('q')).totals.deadLettered, 0)
    },
  )

  suite.test('burying is refused when the dead-letter queue was deleted', async (scene) => {
    const dead = await scene.queueWithDeadLetters('q', 1)
    await scene.send('q', 'survivor')
    const { receipt } = await scene.receiveOne('q')
    await scene.backend.deleteQueue({ queue: dead })
    const result = await scene.settle('q', receipt, { kind: 'deadLetter', reason: 'x' })
    assert.ok(result.status === 'refused' && result.error.code === 'dead_letter_missing')
    assert.equal((await scene.acknowledge('q', receipt)).status, 'settled')
  })
}
