import assert from 'node:assert/strict'
import { created, day, hour, minute, type Scene, second } from './scene.ts'
import type { ContractSuite } from './suite.ts'

export function describeClock(all: ContractSuite): void {
  const suite = all.needing('jumpWall')

  suite.describe('a wall clock that is set back an hour', () => {
    suite.test('lengthens no lease that was given before', async (scene) => {
      await scene.queue('q', { visibilityMs: 10 * second })
      await scene.send('q', 'body')
      await scene.receiveOne('q')
      scene.jumpWall(-hour)
      await scene.advance(9 * second)
      assert.deepEqual(await scene.receiveBodies('q'), [])
      await scene.advance(2 * second)
      assert.deepEqual(await scene.receiveBodies('q'), ['body'])
    })

    suite.test('lengthens no lease that is given afterwards', async (scene) => {
      await scene.queue('q', { visibilityMs: 10 * second })
      await scene.send('q', 'body')
      scene.jumpWall(-hour)
      const { receipt } = await scene.receiveOne('q')
      await scene.advance(5 * second)
      assert.equal((await scene.extend('q', receipt, 10 * second)).status, 'extended')
      await scene.advance(11 * second)
      assert.deepEqual(await scene.receiveBodies('q'), ['body'])
    })

    suite.needing('fifo').test('reopens no deduplication, and ends it in time', async (scene) => {
      await scene.fifoQueue('q.fifo')
      const message = { body: 'x', group: 'g', deduplicationId: 'd' }
      created(await scene.sendOne('q.fifo', message))
      scene.jumpWall(-hour)
      assert.equal((await scene.sendOne('q.fifo', message)).status, 'duplicate')
      await scene.advance(4 * minute)
      assert.equal((await scene.sendOne('q.fifo', message)).status, 'duplicate')
      await scene.advance(minute + second)
      assert.equal((await scene.sendOne('q.fifo', message)).status, 'created')
    })

    suite.test('keeps the order', async (scene) => {
      await scene.queue('q')
      await scene.send('q', 'one')
      scene.jumpWall(-hour)
      await scene.send('q', 'two')
      scene.jumpWall(-hour)
      await scene.send('q', 'three')
      const deliveries = await scene.receive('q')
      assert.deepEqual(
        deliveries.map(({ body }) => body),
        ['one', 'two', 'three'],
      )
      const times = deliveries.map(({ sentAt }) => sentAt)
      assert.deepEqual(
        times,
        times.toSorted((a, b) => a - b),
      )
    })

    suite.test('still ends delays in time', async (scene) => {
      await scene.queue('q')
      await scene.send('q', { body: 'before', delayMs: 10 * second })
      scene.jumpWall(-hour)
      await scene.send('q', { body: 'after', delayMs: 10 * second })
      await scene.advance(9 * second)
      assert.deepEqual(await scene.receiveBodies('q'), [])
      await scene.advance(2 * second)
      assert.deepEqual(await scene.receiveBodies('q'), ['before', 'after'])
    })

    suite.test('still wakes a receive that waits for the end of a delay', async (scene) => {
      await scene.queue('q')
      await scene.send('q', { body: 'later', delayMs: 5 * second })
      const answer = scene.receive('q', { waitMs: 20 * second })
      await scene.advance(second)
      scene.jumpWall(-hour)
      await scene.advance(5 * second)
      assert.deepEqual(
        (await answer).map(({ body }) => body),
        ['later'],
      )
    })

    suite.needing('reopen').test('does no harm across a restart either', async (scene) => {
      await scene.queue('q', { visibilityMs: 10 * second })
      await scene.send('q', 'body')
      await scene.receiveOne('q')
      scene.jumpWall(-hour)
      await scene.reopen()
      assert.deepEqual(await scene.receiveBodies('q'), [])
      await scene.advance(11 * second)
      assert.deepEqual(await scene.receiveBodies('q'), ['body'])
    })
  })
  suite.describe('a wall clock that is five days ahead for three seconds', () => {
    suite.test('lets no message expire', async (scene) => {
      await scene.queue('q')
      await scene.send('q', 'ready', { body: 'delayed', delayMs: minute })
      await whileAhead(scene, async () => {
        await scene.send('q', 'sent meanwhile')
        await scene.sweep()
        assert.deepEqual(await scene.counts('q'), { ready: 2, leased: 0, delayed: 1 })
      })
      await scene.sweep()
      assert.deepEqual(await scene.receiveBodies('q'), ['ready', 'sent meanwhile'])
      await scene.advance(minute)
      assert.deepEqual(await scene.receiveBodies('q'), ['ready', 'delayed', 'sent meanwhile'])
    })

    suite.test('ends no lease, and makes none longer', async (scene) => {
      await scene.queue('q', { visibilityMs: 10 * second })
      await scene.send('q', 'before')
      const before = await scene.receiveOne('q')
      await whileAhead(scene, async () => {
        await scene.sweep()
        assert.deepEqual(await scene.receiveBodies('q'), [])
        assert.equal((await scene.extend('q', before.receipt, 10 * second)).status, 'extended')
      })
      await scene.advance(6 * second)
      assert.deepEqual(await scene.receiveBodies('q'), [])
      await scene.advance(2 * second)
      assert.deepEqual(await scene.receiveBodies('q'), ['before'])
    })

    suite.test('makes no delayed message ready, nor wakes a receive for it', async (scene) => {
      await scene.queue('q')
      await scene.send('q', { body: 'later', delayMs: 10 * second })
      const answer = scene.receive('q', { waitMs: 5 * second })
      await whileAhead(scene, async () => {
        assert.deepEqual(await scene.receiveBodies('q'), [])
      })
      await scene.advance(2 * second)
      assert.deepEqual(await answer, [])
      await scene.advance(5 * second)
      assert.deepEqual(await scene.receiveBodies('q'), ['later'])
    })

    suite.needing('fifo').test('forgets no deduplication id', async (scene) => {
      await scene.fifoQueue('q.fifo')
      const message = { body: 'x', group: 'g', deduplicationId: 'd' }
      created(await scene.sendOne('q.fifo', message))
      await whileAhead(scene, async () => {
        assert.equal((await scene.sendOne('q.fifo', message)).status, 'duplicate')
      })
      assert.equal((await scene.sendOne('q.fifo', message)).status, 'duplicate')
    })

    suite.needing('reopen').test('does no harm to a store that is opened then', async (scene) => {
      await scene.queue('q', { visibilityMs: 10 * second })
      await scene.send('q', 'leased', 'ready')
      await scene.receiveOne('q')
      await whileAhead(scene, async () => {
        await scene.reopen()
        await scene.sweep()
        await scene.send('q', 'sent meanwhile')
        await scene.reopen()
      })
      assert.deepEqual(await scene.receiveBodies('q'), ['ready', 'sent meanwhile'])
      await scene.advance(11 * second)
      assert.equal((await scene.receiveBodies('q')).length, 3)
    })
  })
}

async function whileAhead(scene: Scene, run: () => Promise<void>): Promise<void> {
  scene.jumpWall(5 * day)
  await scene.advance(second)
  await run()
  await scene.advance(2 * second)
  scene.jumpWall(-5 * day)
}
