import assert from 'node:assert/strict'
import { created, hour, minute, second } from './scene.ts'
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
}
