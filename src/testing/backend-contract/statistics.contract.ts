import assert from 'node:assert/strict'
import { noCounts, totalsOf } from '../../core/queue-counters.ts'
import { minute, rejects, second } from './scene.ts'
import type { ContractSuite } from './suite.ts'

export function describeStatistics(suite: ContractSuite): void {
  suite.describe('statistics', () => {
    suite.test('a new queue counts nothing', async (scene) => {
      await scene.queue('q')
      assert.deepEqual(await scene.statistics('q'), {
        ready: 0,
        leased: 0,
        delayed: 0,
        oldestReadyAgeMs: null,
        totals: totalsOf(noCounts),
      })
      await rejects(scene.statistics('nowhere'), 'queue_not_found')
    })

    suite.test('each state is counted', async (scene) => {
      await scene.queue('q')
      await scene.send('q', 'a', 'b', 'c', { body: 'd', delayMs: minute })
      await scene.receive('q', { max: 2 })
      assert.deepEqual(await scene.counts('q'), { ready: 1, leased: 2, delayed: 1 })
    })

    suite.test('counts follow time without a receive', async (scene) => {
      await scene.queue('q', { visibilityMs: 5 * second })
      await scene.send('q', 'a', { body: 'b', delayMs: 5 * second })
      await scene.receive('q')
      assert.deepEqual(await scene.counts('q'), { ready: 0, leased: 1, delayed: 1 })
      await scene.advance(6 * second)
      await scene.sweep()
      assert.deepEqual(await scene.counts('q'), { ready: 2, leased: 0, delayed: 0 })
    })

    suite.test('totals only rise', async (scene) => {
      const dead = await scene.queueWithDeadLetters('q', 1)
      await scene.send('q', 'acknowledged', 'dead_lettered', 'released')
      const [first, next, last] = await scene.receive('q')
      assert.ok(first && next && last)
      await scene.acknowledge('q', first.receipt)
      await scene.settle('q', next.receipt, { kind: 'deadLetter', reason: 'x' })
      await scene.settle('q', last.receipt, { kind: 'release' })
      await scene.receive('q')
      const { totals } = await scene.statistics('q')
      assert.deepEqual(totals, {
        sent: 3,
        deduplicated: 0,
        received: 4,
        acknowledged: 1,
        deadLettered: 1,
        expired: 0,
      })
      assert.equal((await scene.statistics(dead)).ready, 1)
    })

    suite.test('the oldest age is that of what could be received now', async (scene) => {
      await scene.queue('q')
      await scene.send('q', 'oldest')
      await scene.advance(10 * second)
      await scene.send('q', 'younger')
      await scene.advance(5 * second)
      const near = (actual: number | null, expected: number): void => {
        assert.ok(
          actual !== null && Math.abs(actual - expected) < second,
          `${actual}, not ${expected}`,
        )
      }
      near((await scene.statistics('q')).oldestReadyAgeMs, 15 * second)
      await scene.receiveOne('q', { visibilityMs: minute })
      near((await scene.statistics('q')).oldestReadyAgeMs, 5 * second)
      await scene.receiveOne('q')
      assert.equal((await scene.statistics('q')).oldestReadyAgeMs, null)
    })

    suite.needing('fifo').test('messages behind a locked group count as ready', async (scene) => {
      await scene.fifoQueue('q.fifo')
      await scene.sendToGroup('q.fifo', 'g', 'one', 'two', 'three')
      await scene.receiveOne('q.fifo')
      assert.deepEqual(await scene.counts('q.fifo'), { ready: 2, leased: 1, delayed: 0 })
    })

    suite.needing('reopen').test('counts and totals survive a restart', async (scene) => {
      await scene.queue('q')
      await scene.send('q', 'a', 'b', { body: 'c', delayMs: minute })
      const { receipt } = await scene.receiveOne('q')
      await scene.acknowledge('q', receipt)
      const before = await scene.statistics('q')
      await scene.reopen()
      assert.deepEqual(await scene.statistics('q'), before)
    })
  })
}
