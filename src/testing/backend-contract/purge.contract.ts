import assert from 'node:assert/strict'
import { minute, rejects, second } from './scene.ts'
import type { ContractSuite } from './suite.ts'

export function describePurge(suite: ContractSuite): void {
  suite.describe('purging', () => {
    suite.test('waiting, leased and delayed messages all go', async (scene) => {
      await scene.queue('q', { visibilityMs: 10 * second })
      await scene.queue('bystander')
      await scene.send('bystander', 'stays')
      await scene.send('q', 'leased', 'waiting', { body: 'delayed', delayMs: 10 * second })
      const { receipt } = await scene.receiveOne('q')
      await scene.backend.purgeQueue({ queue: 'q' })
      assert.deepEqual(await scene.counts('q'), { ready: 0, leased: 0, delayed: 0 })
      assert.deepEqual(await scene.acknowledge('q', receipt), { status: 'gone' })
      assert.deepEqual(await scene.extend('q', receipt, minute), { status: 'gone' })
      await scene.advance(minute)
      await scene.sweep()
      assert.deepEqual(await scene.receiveBodies('q'), [])
      assert.deepEqual(await scene.counts('q'), { ready: 0, leased: 0, delayed: 0 })
      assert.deepEqual(await scene.receiveBodies('bystander'), ['stays'])
    })

    suite.test('what is sent after a purge stays', async (scene) => {
      await scene.queue('q')
      await scene.send('q', 'before')
      await scene.backend.purgeQueue({ queue: 'q' })
      await scene.send('q', 'after')
      await scene.sweep()
      assert.deepEqual(await scene.receiveBodies('q'), ['after'])
      assert.equal((await scene.statistics('q')).totals.sent, 2)
    })

    suite.test('a purge can be refused for a while after the last one', async (scene) => {
      await scene.queue('q')
      const purge = () => scene.backend.purgeQueue({ queue: 'q', cooldownMs: minute })
      await purge()
      await scene.send('q', 'kept')
      await scene.advance(59 * second)
      await rejects(purge(), 'purge_in_progress')
      assert.equal((await scene.counts('q')).ready, 1)
      await scene.advance(2 * second)
      await purge()
      assert.equal((await scene.counts('q')).ready, 0)
      await scene.backend.purgeQueue({ queue: 'q' })
      await rejects(scene.backend.purgeQueue({ queue: 'nowhere' }), 'queue_not_found')
    })

    suite.test('a waiting receive is not disturbed by a purge', async (scene) => {
      await scene.queue('q')
      const answer = scene.receive('q', { waitMs: 20 * second })
      await scene.advance(second)
      await scene.backend.purgeQueue({ queue: 'q' })
      await scene.send('q', 'news')
      assert.deepEqual(
        (await answer).map(({ body }) => body),
        ['news'],
      )
    })

    suite.needing('reopen').test('a purge holds after a restart', async (scene) => {
      await scene.queue('q')
      await scene.send('q', 'one', 'two')
      await scene.backend.purgeQueue({ queue: 'q' })
      await scene.reopen()
      assert.deepEqual(await scene.receiveBodies('q'), [])
      assert.deepEqual(await scene.counts('q'), { ready: 0, leased: 0, delayed: 0 })
    })
  })
}
