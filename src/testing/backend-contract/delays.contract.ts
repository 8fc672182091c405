import assert from 'node:assert/strict'
import { limits } from '../../core/limits.ts'
import { assertRefused, minute, second } from './scene.ts'
import type { ContractSuite } from './suite.ts'

export function describeDelays(suite: ContractSuite): void {
  suite.describe('delays', () => {
    suite.test('a message is not seen before its delay ends', async (scene) => {
      await scene.queue('q')
      await scene.send('q', { body: 'later', delayMs: 10 * second }, 'now')
      assert.deepEqual(await scene.counts('q'), { ready: 1, leased: 0, delayed: 1 })
      assert.deepEqual(await scene.receiveBodies('q'), ['now'])
      await scene.advance(9 * second)
      assert.deepEqual(await scene.receiveBodies('q'), [])
      await scene.advance(2 * second)
      assert.deepEqual(await scene.counts('q'), { ready: 1, leased: 1, delayed: 0 })
      assert.equal((await scene.receiveOne('q')).receiveCount, 1)
    })

    suite.test('the delay of the queue counts for messages that bring none', async (scene) => {
      await scene.queue('q', { delayMs: 10 * second })
      await scene.send('q', 'queue', { body: 'none', delayMs: 0 }, { body: 'own', delayMs: minute })
      assert.deepEqual(await scene.receiveBodies('q'), ['none'])
      await scene.advance(11 * second)
      assert.deepEqual(await scene.receiveBodies('q'), ['queue'])
      await scene.advance(minute)
      assert.ok((await scene.receiveBodies('q')).includes('own'))
    })

    suite.test('a changed delay counts for messages sent afterwards', async (scene) => {
      await scene.queue('q', { delayMs: 10 * second })
      await scene.send('q', 'before')
      await scene.backend.changeQueue({ queue: 'q', changes: { delayMs: 0 } })
      await scene.send('q', 'after')
      assert.deepEqual(await scene.receiveBodies('q'), ['after'])
      await scene.advance(11 * second)
      assert.deepEqual(await scene.receiveBodies('q'), ['before'])
    })

    suite.test('a delay outside its limits is refused for its entry', async (scene) => {
      await scene.queue('q')
      const tooLong = limits.messageDelayMs.max + 1
      for (const delayMs of [-1, tooLong, 2 ** 53, 1.5, Number.NaN]) {
        assertRefused(await scene.sendOne('q', { body: 'x', delayMs }), 'invalid_argument')
      }
      assert.deepEqual(await scene.counts('q'), { ready: 0, leased: 0, delayed: 0 })
    })

    suite.test('the longest delay holds', async (scene) => {
      await scene.queue('q')
      await scene.send('q', { body: 'x', delayMs: limits.delayMs.max })
      await scene.advance(limits.delayMs.max - second)
      assert.deepEqual(await scene.receiveBodies('q'), [])
      await scene.advance(2 * second)
      assert.deepEqual(await scene.receiveBodies('q'), ['x'])
    })

    suite.needing('reopen').test('delays survive a restart', async (scene) => {
      await scene.queue('q')
      await scene.send('q', { body: 'later', delayMs: 10 * second })
      await scene.reopen()
      assert.deepEqual(await scene.receiveBodies('q'), [])
      await scene.advance(11 * second)
      assert.deepEqual(await scene.receiveBodies('q'), ['later'])
    })

    suite
      .needing('fifo')
      .test('a FIFO queue delays as a whole, never one message', async (scene) => {
        await scene.fifoQueue('q.fifo', { delayMs: 10 * second })
        assertRefused(
          await scene.sendOne('q.fifo', {
            body: 'x',
            group: 'g',
            deduplicationId: 'd',
            delayMs: 1,
          }),
          'invalid_argument',
        )
        await scene.sendToGroup('q.fifo', 'g', 'one', 'two')
        assert.deepEqual(await scene.counts('q.fifo'), { ready: 0, leased: 0, delayed: 2 })
        assert.deepEqual(await scene.receiveBodies('q.fifo'), [])
        await scene.advance(11 * second)
        assert.deepEqual(await scene.receiveBodies('q.fifo'), ['one', 'two'])
      })
  })
}
