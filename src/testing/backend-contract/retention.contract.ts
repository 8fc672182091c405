import assert from 'node:assert/strict'
import { assertRefused, created, grouped, minute, rejects, second } from './scene.ts'
import type { ContractSuite } from './suite.ts'

export function describeRetention(suite: ContractSuite): void {
  suite.describe('retention', () => {
    suite
      .needing('exactFigures')
      .test('a waiting message expires, is not delivered, and is counted', async (scene) => {
        await scene.queue('q', { retentionMs: minute })
        await scene.send('q', 'old')
        await scene.advance(59 * second)
        await scene.send('q', 'young')
        assert.equal((await scene.counts('q')).ready, 2)
        await scene.advance(2 * second)
        assert.deepEqual(await scene.receiveBodies('q'), ['young'])
        await scene.sweep()
        assert.deepEqual(await scene.counts('q'), { ready: 0, leased: 1, delayed: 0 })
        assert.equal((await scene.statistics('q')).totals.expired, 1)
      })

    suite
      .needing('exactFigures')
      .test('maintenance alone removes what has expired', async (scene) => {
        await scene.queue('q', { retentionMs: minute })
        await scene.send('q', 'one', 'two', 'large '.repeat(1_000))
        await scene.advance(minute + second)
        await scene.sweep()
        assert.deepEqual(await scene.counts('q'), { ready: 0, leased: 0, delayed: 0 })
        assert.equal((await scene.statistics('q')).totals.expired, 3)
      })

    suite
      .needing('exactFigures')
      .test('a message in flight expires too, and its receipt is gone', async (scene) => {
        await scene.queue('q', { retentionMs: minute })
        await scene.send('q', 'held')
        const { receipt } = await scene.receiveOne('q', { visibilityMs: 10 * minute })
        await scene.advance(minute + second)
        await scene.sweep()
        assert.deepEqual(await scene.counts('q'), { ready: 0, leased: 0, delayed: 0 })
        assert.deepEqual(await scene.extend('q', receipt, minute), { status: 'gone' })
        assert.deepEqual(await scene.acknowledge('q', receipt), { status: 'gone' })
        const { totals } = await scene.statistics('q')
        assert.deepEqual([totals.expired, totals.acknowledged], [1, 0])
      })

    suite.test('a delay that is as long as the retention is refused', async (scene) => {
      await scene.queue('q', { retentionMs: minute })
      for (const delayMs of [minute, 2 * minute]) {
        assertRefused(await scene.sendOne('q', { body: 'x', delayMs }), 'invalid_argument')
      }
      await scene.send('q', { body: 'just in time', delayMs: minute - 1 })
      await scene.advance(minute - 1)
      assert.deepEqual(await scene.receiveBodies('q'), ['just in time'])
    })

    suite.test('so is the delay of a queue, for messages that bring none', async (scene) => {
      await scene.queue('q', { delayMs: 10 * minute })
      await scene.backend.changeQueue({ queue: 'q', changes: { retentionMs: 10 * minute } })
      assertRefused(await scene.sendOne('q', { body: 'x' }), 'invalid_argument')
      created(await scene.sendOne('q', { body: 'x', delayMs: 0 }))
      const rest = { queue: 'q', messages: [{ body: 'x' }], allOrNothing: true }
      await rejects(scene.backend.send(rest), 'invalid_argument')
      assert.deepEqual(await scene.counts('q'), { ready: 1, leased: 0, delayed: 0 })
    })

    suite.needing('fifo').test('and that of a FIFO queue', async (scene) => {
      await scene.fifoQueue('q.fifo', { delayMs: minute, retentionMs: minute })
      assertRefused(await scene.sendOne('q.fifo', grouped('g', 'x')), 'invalid_argument')
    })

    suite.test('nothing is settled when such a message is emitted', async (scene) => {
      await scene.queue('q', { retentionMs: minute })
      await scene.send('q', 'body')
      const { receipt } = await scene.receiveOne('q')
      const emit = { queue: 'q', message: { body: 'x', delayMs: minute } }
      const result = await scene.settle('q', receipt, { kind: 'acknowledge' }, [emit])
      assertRefused(result, 'invalid_argument')
      assert.equal((await scene.acknowledge('q', receipt)).status, 'settled')
    })

    suite.test('a shorter retention can end before a delay does', async (scene) => {
      await scene.queue('q')
      await scene.send('q', { body: 'never', delayMs: 2 * minute })
      await scene.backend.changeQueue({ queue: 'q', changes: { retentionMs: minute } })
      await scene.advance(minute + second)
      await scene.sweep()
      assert.deepEqual(await scene.counts('q'), { ready: 0, leased: 0, delayed: 0 })
      await scene.advance(2 * minute)
      assert.deepEqual(await scene.receiveBodies('q'), [])
    })

    suite.test(
      'retention counts from the first send, whatever was received since',
      async (scene) => {
        await scene.queue('q', { retentionMs: minute, visibilityMs: 10 * second })
        await scene.send('q', 'often')
        for (let round = 0; round < 5; round += 1) {
          assert.deepEqual(await scene.receiveBodies('q'), ['often'])
          await scene.advance(11 * second)
        }
        await scene.advance(6 * second)
        assert.deepEqual(await scene.receiveBodies('q'), [])
      },
    )

    suite.test('a shorter retention counts for messages that are already there', async (scene) => {
      await scene.queue('q')
      await scene.send('q', 'waiting', { body: 'delayed', delayMs: 10 * minute }, 'held')
      const [, held] = await scene.receive('q', { visibilityMs: 10 * minute })
      assert.equal(held?.body, 'held')
      await scene.advance(2 * minute)
      await scene.backend.changeQueue({ queue: 'q', changes: { retentionMs: minute } })
      await scene.sweep()
      assert.deepEqual(await scene.receiveBodies('q'), [])
      assert.deepEqual(await scene.counts('q'), { ready: 0, leased: 0, delayed: 0 })
    })

    suite
      .needing('exactFigures')
      .test('a longer retention returns nothing that had expired', async (scene) => {
        await scene.queue('q')
        await scene.send('q', 'waiting', { body: 'delayed', delayMs: 2 * minute })
        await scene.backend.changeQueue({ queue: 'q', changes: { retentionMs: minute } })
        await scene.advance(minute + second)
        await scene.backend.changeQueue({ queue: 'q', changes: { retentionMs: 60 * minute } })
        await scene.advance(2 * minute)
        assert.deepEqual(await scene.receiveBodies('q'), [])
        assert.equal((await scene.statistics('q')).totals.expired, 2)
      })

    suite
      .needing('exactFigures')
      .test('what has expired stays counted when the queue is purged', async (scene) => {
        await scene.queue('q', { retentionMs: minute })
        await scene.send('q', 'old')
        await scene.advance(minute + second)
        assert.equal((await scene.statistics('q')).totals.expired, 1)
        await scene.backend.purgeQueue({ queue: 'q' })
        await scene.sweep()
        assert.equal((await scene.statistics('q')).totals.expired, 1)
      })

    suite.test('a longer retention counts for messages that are already there', async (scene) => {
      await scene.queue('q')
      await scene.send('q', 'waiting', { body: 'delayed', delayMs: 5 * minute })
      await scene.backend.changeQueue({ queue: 'q', changes: { retentionMs: minute } })
      const { receipt } = await scene.receiveOne('q', { visibilityMs: 5 * minute })
      await scene.advance(30 * second)
      await scene.backend.changeQueue({ queue: 'q', changes: { retentionMs: 60 * minute } })
      await scene.advance(minute)
      await scene.sweep()
      assert.deepEqual(await scene.counts('q'), { ready: 0, leased: 1, delayed: 1 })
      assert.equal((await scene.extend('q', receipt, 5 * minute)).status, 'extended')
      await scene.advance(6 * minute)
      assert.deepEqual(await scene.receiveBodies('q'), ['waiting', 'delayed'])
    })

    suite.test('a longer retention keeps a lease that outlasted the old one', async (scene) => {
      for (const queue of ['q', 'q.fifo']) {
        await scene.queue(queue, { retentionMs: minute })
        await scene.send(
          queue,
          queue === 'q' ? 'held' : { body: 'held', group: 'g', deduplicationId: 'd' },
        )
        const { receipt } = await scene.receiveOne(queue, { visibilityMs: 5 * minute })
        await scene.advance(30 * second)
        await scene.backend.changeQueue({ queue, changes: { retentionMs: 60 * minute } })
        await scene.advance(minute)
        // The queue was not read since.
        assert.equal((await scene.extend(queue, receipt, minute)).status, 'extended')
        assert.equal((await scene.acknowledge(queue, receipt)).status, 'settled')
      }
    })
  })
}
