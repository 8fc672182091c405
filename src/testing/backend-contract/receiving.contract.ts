import assert from 'node:assert/strict'
import type { Delivery } from '../../backends/backend.ts'
import { limits } from '../../core/limits.ts'
import { minute, only, rejects, second } from './scene.ts'
import type { ContractSuite } from './suite.ts'

export function describeReceiving(suite: ContractSuite): void {
  suite.describe('receiving', () => {
    suite.test('the oldest messages come first, at most as many as asked for', async (scene) => {
      await scene.queue('q')
      await scene.send('q', 'one', 'two', 'three')
      assert.deepEqual(await scene.receiveBodies('q', { max: 2 }), ['one', 'two'])
      assert.deepEqual(await scene.receiveBodies('q', { max: 2 }), ['three'])
      assert.deepEqual(await scene.receiveBodies('q', { max: 2 }), [])
    })

    suite.test('a receive calls onLeased with its deliveries before it resolves', async (scene) => {
      await scene.queue('q')
      await scene.send('q', 'one', 'two')
      const calls: string[] = []
      const onLeased = (deliveries: readonly Delivery[]): void => {
        calls.push(`leased ${deliveries.map(({ body }) => body)}`)
      }
      const receive = async (): Promise<void> => {
        const deliveries = await scene.backend.receive({ queue: 'q', max: 2, waitMs: 0, onLeased })
        calls.push(`resolved ${deliveries.map(({ body }) => body)}`)
      }
      await receive()
      await receive()
      assert.deepEqual(calls, ['leased one,two', 'resolved one,two', 'resolved '])
    })

    suite.test('a prefetch leaves at least as many messages for other receivers', async (scene) => {
      await scene.queue('q')
      const bodies = Array.from({ length: 11 }, (_, index) => `${index}`)
      await scene.send('q', ...bodies)
      const ahead = await scene.receiveBodies('q', { max: 1, prefetch: 100 })
      assert.ok(ahead.length >= 1 && ahead.length <= 6, `${ahead.length} of 11`)
      assert.deepEqual(ahead, bodies.slice(0, ahead.length))
      const rest = bodies.length - ahead.length
      assert.equal((await scene.counts('q')).ready, rest)
      // The last messages go to the receivers that have room for them now.
      await scene.receiveBodies('q', { max: rest - 2 })
      assert.equal((await scene.receiveBodies('q', { max: 1, prefetch: 100 })).length, 1)
    })

    suite.test('a prefetch does not take messages that were received before', async (scene) => {
      await scene.queue('q', { visibilityMs: 5 * second })
      await scene.send('q', 'a', 'b', 'c', 'd', 'e', 'f')
      await scene.receiveBodies('q', { max: 2 })
      await scene.advance(6 * second)
      assert.deepEqual(await scene.receiveBodies('q', { max: 1, prefetch: 100 }), ['a'])
    })

    suite.test('a message whose lease lapsed comes before younger ones', async (scene) => {
      await scene.queue('q')
      await scene.send('q', 'one', 'two', 'three')
      await scene.receiveOne('q', { visibilityMs: 5 * second })
      await scene.advance(6 * second)
      assert.deepEqual(await scene.receiveBodies('q'), ['one', 'two', 'three'])
    })

    suite.needing('jumpWall').test('a delivery says how long its lease is', async (scene) => {
      await scene.queue('q', { visibilityMs: 5 * second })
      await scene.send('q', 'body')
      for (const given of [{}, { visibilityMs: 7 * second }]) {
        scene.jumpWall(-minute)
        const { leasedAt, leaseExpiresAt, sentAt } = await scene.receiveOne('q', given)
        assert.equal(leaseExpiresAt - leasedAt, given.visibilityMs ?? 5 * second)
        assert.ok(leasedAt >= sentAt)
        await scene.advance(5 * second)
      }
    })

    suite.test(
      'each delivery raises the receive count; the first one is remembered',
      async (scene) => {
        await scene.queue('q', { visibilityMs: 5 * second })
        await scene.send('q', 'body')
        const first = await scene.receiveOne('q')
        assert.equal(first.receiveCount, 1)
        assert.ok(first.firstReceivedAt !== null && first.firstReceivedAt >= first.sentAt)
        await scene.advance(6 * second)
        const again = await scene.receiveOne('q')
        assert.equal(again.receiveCount, 2)
        assert.equal(again.firstReceivedAt, first.firstReceivedAt)
        assert.deepEqual(
          [again.id, again.sequence, again.sentAt],
          [first.id, first.sequence, first.sentAt],
        )
        assert.notEqual(again.receipt, first.receipt)
        assert.ok(again.token > first.token)
      },
    )

    suite.test('a leased message is hidden for the time that the queue says', async (scene) => {
      await scene.queue('q', { visibilityMs: 10 * second })
      await scene.send('q', 'body')
      const delivery = await scene.receiveOne('q')
      assert.equal(delivery.leaseExpiresAt - (delivery.firstReceivedAt ?? 0), 10 * second)
      await scene.advance(9 * second)
      assert.deepEqual(await scene.receiveBodies('q'), [])
      await scene.advance(2 * second)
      assert.deepEqual(await scene.receiveBodies('q'), ['body'])
    })

    suite.test('a receive may bring its own visibility', async (scene) => {
      await scene.queue('q', { visibilityMs: 10 * second })
      await scene.send('q', 'body')
      await scene.receiveOne('q', { visibilityMs: 20 * second })
      await scene.advance(19 * second)
      assert.deepEqual(await scene.receiveBodies('q'), [])
      await scene.advance(2 * second)
      assert.deepEqual(await scene.receiveBodies('q'), ['body'])
    })

    suite.test('a visibility of 0 leaves the message for the next receive', async (scene) => {
      await scene.queue('q')
      await scene.send('q', 'body')
      const counts: number[] = []
      for (let round = 0; round < 3; round += 1) {
        counts.push((await scene.receiveOne('q', { visibilityMs: 0 })).receiveCount)
      }
      assert.deepEqual(counts, [1, 2, 3])
      assert.deepEqual(await scene.counts('q'), { ready: 1, leased: 0, delayed: 0 })
    })

    suite.test('a receive sees nothing of other queues', async (scene) => {
      await scene.queue('q')
      await scene.queue('q2')
      await scene.send('q2', 'elsewhere')
      assert.deepEqual(await scene.receiveBodies('q'), [])
      assert.deepEqual(await scene.receiveBodies('q2'), ['elsewhere'])
    })

    suite.test(
      'receives at the same time share the messages, each one goes to one',
      async (scene) => {
        await scene.queue('q')
        const bodies = Array.from({ length: 50 }, (_, index) => `m${index}`)
        await scene.send('q', ...bodies)
        const answers = await Promise.all(
          Array.from({ length: 20 }, () => scene.receive('q', { max: 3 })),
        )
        const deliveries = answers.flat()
        assert.deepEqual(deliveries.map(({ body }) => body).toSorted(), bodies.toSorted())
        assert.equal(new Set(deliveries.map(({ token }) => token)).size, 50)
      },
    )

    suite.test('arguments outside their limits are refused', async (scene) => {
      await scene.queue('q')
      await scene.send('q', 'body')
      for (const max of [0, limits.messagesPerCall.max + 1, 1.5]) {
        await rejects(scene.receive('q', { max }), 'invalid_argument')
      }
      const { visibilityMs, receiveWaitMs } = limits
      await rejects(scene.receive('q', { visibilityMs: visibilityMs.max + 1 }), 'invalid_argument')
      await rejects(scene.receive('q', { visibilityMs: -1 }), 'invalid_argument')
      await rejects(scene.receive('q', { waitMs: receiveWaitMs.max + 1 }), 'invalid_argument')
      await rejects(scene.receive('nowhere'), 'queue_not_found')
      assert.equal(only(await scene.receive('q')).receiveCount, 1)
    })

    suite.needing('reopen').test('leases survive a restart', async (scene) => {
      await scene.queue('q', { visibilityMs: 10 * second })
      await scene.send('q', 'held', 'free')
      const held = await scene.receiveOne('q')
      await scene.reopen()
      assert.deepEqual(await scene.receiveBodies('q'), ['free'])
      assert.equal((await scene.acknowledge('q', held.receipt)).status, 'settled')
      await scene.advance(11 * second)
      assert.deepEqual(await scene.receiveBodies('q'), ['free'])
    })
  })
}
