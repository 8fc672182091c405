import assert from 'node:assert/strict'
import { rejects, second } from './scene.ts'
import type { ContractSuite } from './suite.ts'

export function describeClosing(suite: ContractSuite): void {
  suite.describe('closing', () => {
    suite.test('the check of an open store resolves', async ({ backend }) => {
      await backend.check()
    })

    suite.test('closing ends waiting receives empty-handed', async (scene) => {
      await scene.queue('q')
      const answer = scene.receive('q', { waitMs: 20 * second })
      await scene.advance(second)
      await scene.backend.close()
      assert.deepEqual(await answer, [])
    })

    suite.test('closing twice, or twice at once, is closing', async (scene) => {
      await Promise.all([scene.backend.close(), scene.backend.close()])
      await scene.backend.close()
    })

    suite.test('a closed store refuses every call', async (scene) => {
      await scene.queue('q')
      await scene.backend.close()
      await rejects(scene.send('q', 'late'), 'store_closed')
      await rejects(scene.receive('q'), 'store_closed')
      await rejects(scene.receive('q', { waitMs: second }), 'store_closed')
      await rejects(scene.statistics('q'), 'store_closed')
      await rejects(scene.backend.readQueue({ queue: 'q' }), 'store_closed')
      await rejects(scene.backend.sweep(), 'store_closed')
      await rejects(scene.backend.check(), 'store_closed')
    })

    suite.needing('reopen').test('what had arrived before the closing is kept', async (scene) => {
      await scene.queue('q')
      const sends = [scene.send('q', 'one'), scene.send('q', 'two')]
      await scene.reopen()
      assert.equal((await Promise.all(sends)).length, 2)
      assert.deepEqual(await scene.receiveBodies('q'), ['one', 'two'])
    })
  })
}
