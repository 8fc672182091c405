import assert from 'node:assert/strict'
import { quietMinute } from '../../backends/queue-metrics.ts'
import { metricsOf, minutesOf, nextMinute } from './metric-scene.ts'
import { day, hour, minute, only, rejects, type Scene, second } from './scene.ts'
import type { ContractSuite } from './suite.ts'

export function describeMetrics(all: ContractSuite): void {
  const suite = all.needing('metrics')

  suite.describe('metrics by the minute', () => {
    suite.test('a minute has what was counted in it, and levels at its end', async (scene) => {
      await scene.queueWithDeadLetters('q', 5)
      await scene.send('q', 'done', 'dead_lettered', 'held', 'waiting', {
        body: 'later',
        delayMs: 5 * minute,
      })
      const [done, deadLettered] = await scene.receive('q', { max: 3, visibilityMs: hour })
      assert.ok(done && deadLettered)
      await scene.acknowledge('q', done.receipt)
      await scene.settle('q', deadLettered.receipt, { kind: 'deadLetter', reason: 'broken' })
      await nextMinute(scene)
      const { minute: at, ...figures } = only(await minutesOf(scene, 'q'))
      assert.equal(at % minute, 0)
      assert.deepEqual(figures, {
        ...quietMinute,
        sent: 5,
        received: 3,
        acknowledged: 1,
        deadLettered: 1,
        failedAttempts: 1,
        ready: 1,
        leased: 1,
        delayed: 1,
        oldestReadyAgeMs: minute,
        oldestAgeMs: minute,
      })
    })

    suite.test('minutes together are exactly what was counted', async (scene) => {
      await scene.queue('q')
      const counts = [3, 0, 7, 1]
      for (const count of counts) {
        for (let index = 0; index < count; index += 1) await scene.send('q', `m${index}`)
        await nextMinute(scene)
      }
      const minutes = await minutesOf(scene, 'q')
      assert.deepEqual(
        minutes.map(({ sent }) => sent),
        counts,
      )
      assert.deepEqual(
        minutes.map(({ ready }) => ready),
        [3, 3, 10, 11],
      )
      assert.equal((await scene.statistics('q')).totals.sent, 11)
    })

    suite.test('a minute is written once, however often it is sampled', async (scene) => {
      await scene.queue('q')
      await scene.send('q', 'a')
      await scene.advance(minute)
      const reports = await Promise.all([1, 2, 3].map(() => metricsOf(scene).sample()))
      const written = reports.filter((report) => report.minute !== null)
      assert.equal(written.length, 1)
      await scene.send('q', 'b')
      const late = await metricsOf(scene).sample()
      assert.equal(late.minute, null)
      assert.equal(only(await minutesOf(scene, 'q')).sent, 1)
      await nextMinute(scene)
      assert.deepEqual(await sentByMinute(scene, 'q'), [1, 1])
    })

    suite.test('the report says when the minute ends', async (scene) => {
      await scene.queue('q')
      await nextMinute(scene)
      const before = await metricsOf(scene).sample()
      assert.ok(before.nextInMs > 0 && before.nextInMs <= minute)
      await scene.advance(second)
      const after = await metricsOf(scene).sample()
      assert.equal(before.nextInMs - after.nextInMs, second)
    })

    suite.test('a late sample writes the latest minute, and gaps stay gaps', async (scene) => {
      await scene.queue('q')
      await scene.send('q', 'a')
      await nextMinute(scene)
      await scene.send('q', 'b')
      await scene.advance(minute)
      await scene.send('q', 'c', 'd')
      await scene.advance(3 * minute)
      await metricsOf(scene).sample()
      const [first, second] = await minutesOf(scene, 'q')
      assert.ok(first && second)
      assert.deepEqual([first.sent, second.sent], [1, 3])
      assert.equal(second.minute - first.minute, 4 * minute)
    })

    suite.test(
      'a queue in which nothing happens and nothing waits has no minutes',
      async (scene) => {
        await scene.queue('idle')
        await scene.queue('q')
        await scene.send('q', 'a')
        const { receipt } = await scene.receiveOne('q')
        await scene.acknowledge('q', receipt)
        for (let count = 0; count < 3; count += 1) await nextMinute(scene)
        assert.deepEqual(await minutesOf(scene, 'idle'), [])
        assert.equal((await minutesOf(scene, 'q')).length, 1)
      },
    )

    suite.test('a queue has no minute from before it was there', async (scene) => {
      await scene.queue('q')
      await scene.send('q', 'a')
      await scene.advance(second)
      await metricsOf(scene).sample()
      assert.deepEqual(await minutesOf(scene, 'q'), [])
      await nextMinute(scene)
      assert.deepEqual(await sentByMinute(scene, 'q'), [1])
    })

    suite.test('a purge shows as a minute in which nothing is left', async (scene) => {
      await scene.queue('q')
      await scene.send('q', 'a', 'b')
      await nextMinute(scene)
      await scene.backend.purgeQueue({ queue: 'q' })
      for (let count = 0; count < 3; count += 1) await nextMinute(scene)
      const levels = (await minutesOf(scene, 'q')).map(({ ready }) => ready)
      assert.deepEqual(levels, [2, 0])
    })

    suite.test('levels follow time without a receive', async (scene) => {
      await scene.queue('q', { visibilityMs: 30 * second })
      await scene.send('q', 'a', { body: 'b', delayMs: 30 * second })
      await scene.receive('q')
      await nextMinute(scene)
      const { ready, leased, delayed } = only(await minutesOf(scene, 'q'))
      assert.deepEqual({ ready, leased, delayed }, { ready: 2, leased: 0, delayed: 0 })
    })

    suite.test('only what was asked for is answered', async (scene) => {
      await scene.queue('q')
      for (let count = 0; count < 4; count += 1) {
        await scene.send('q', 'a')
        await nextMinute(scene)
      }
      const minutes = await minutesOf(scene, 'q')
      const [, second, third] = minutes
      assert.ok(second && third)
      const span = { from: second.minute, to: third.minute }
      assert.deepEqual(await metricsOf(scene).minutes({ queue: 'q', ...span }), [second, third])
      await rejects(metricsOf(scene).minutes({ queue: 'nowhere', ...span }), 'queue_not_found')
      const turned = { from: span.to, to: span.from }
      await rejects(metricsOf(scene).minutes({ queue: 'q', ...turned }), 'invalid_argument')
    })

    suite.test('the latest minute before them is answered too, if asked for', async (scene) => {
      await scene.queue('q')
      await scene.send('q', 'a')
      await nextMinute(scene)
      const counted = only(await minutesOf(scene, 'q'))
      const long = { from: counted.minute + hour, to: counted.minute + 2 * hour }
      const minutes = (span: { readonly from: number; readonly to: number }) =>
        metricsOf(scene).minutes({ queue: 'q', ...span, withLatestBefore: true })
      assert.deepEqual(await minutes(long), [counted])
      assert.deepEqual(await minutes({ from: 0, to: counted.minute }), [counted])
      assert.deepEqual(await minutes({ from: 0, to: counted.minute - 1 }), [])
    })

    suite.test('minutes are forgotten after three days', async (scene) => {
      await scene.queue('q')
      await scene.send('q', 'a')
      await nextMinute(scene)
      await scene.advance(3 * day - 2 * minute)
      await scene.send('q', 'b')
      await nextMinute(scene)
      assert.deepEqual(await sentByMinute(scene, 'q'), [1, 1])
      await nextMinute(scene)
      assert.deepEqual(await sentByMinute(scene, 'q'), [1, 0])
    })

    suite.test('a queue that is made anew begins with nothing', async (scene) => {
      await scene.queue('q')
      await scene.send('q', 'a', 'b')
      await nextMinute(scene)
      await scene.backend.deleteQueue({ queue: 'q' })
      await scene.queue('q')
      await scene.send('q', 'c')
      await nextMinute(scene)
      assert.deepEqual(await sentByMinute(scene, 'q'), [1])
    })

    suite
      .needing('reopen')
      .test('a restart neither loses nor repeats what was counted', async (scene) => {
        await scene.queue('q')
        await scene.send('q', 'a')
        await nextMinute(scene)
        await scene.send('q', 'b', 'c')
        await scene.reopen()
        await scene.send('q', 'd')
        await nextMinute(scene)
        await scene.reopen()
        assert.deepEqual(await sentByMinute(scene, 'q'), [1, 3])
      })

    suite
      .needing('jumpWall')
      .test('a wall clock that is set back writes no minute again', async (scene) => {
        await scene.queue('q')
        await scene.send('q', 'a')
        await nextMinute(scene)
        scene.jumpWall(-hour)
        await scene.send('q', 'b')
        assert.equal((await metricsOf(scene).sample()).minute, null)
        await nextMinute(scene)
        const [first, second] = await minutesOf(scene, 'q')
        assert.ok(first && second)
        assert.deepEqual([first.sent, second.sent], [1, 1])
        assert.equal(second.minute - first.minute, minute)
      })
  })
}

async function sentByMinute(scene: Scene, queue: string): Promise<readonly number[]> {
  return (await minutesOf(scene, queue)).map(({ sent }) => sent)
}
