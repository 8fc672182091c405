import assert from 'node:assert/strict'
import type { NewMessage, QueueSettings } from '../../backends/backend.ts'
import { assertRefused, created, minute, type Scene, second } from './scene.ts'
import type { ContractSuite } from './suite.ts'

const queue = 'q.fifo'

export function describeDeduplication(all: ContractSuite): void {
  const suite = all.needing('fifo')
  const message = (deduplicationId: string, group = 'g', body = 'body'): NewMessage => ({
    body,
    group,
    deduplicationId,
  })

  /** Sends a first message, and returns the result that its duplicate must have. */
  const first = async (scene: Scene, settings: Partial<QueueSettings> = {}) => {
    await scene.fifoQueue(queue, settings)
    const { id, sequence } = created(await scene.sendOne(queue, message('same')))
    return { status: 'duplicate', id, sequence } as const
  }

  suite.describe('deduplication', () => {
    suite.test(
      'a second send answers the id and sequence of the first and stores nothing',
      async (scene) => {
        const duplicate = await first(scene)
        assert.deepEqual(await scene.sendOne(queue, message('same', 'g', 'other body')), duplicate)
        assert.deepEqual(await scene.receiveBodies(queue), ['body'])
        const { totals } = await scene.statistics(queue)
        assert.deepEqual([totals.sent, totals.deduplicated], [1, 1])
      },
    )

    suite.test('twins in one call are duplicates too', async (scene) => {
      await scene.fifoQueue(queue)
      const [one, two] = await scene.backend.send({ queue, messages: [message('d'), message('d')] })
      assert.ok(one && two)
      const { id, sequence } = created(one)
      assert.deepEqual(two, { status: 'duplicate', id, sequence })
    })

    suite.test('many equal sends at once make one message', async (scene) => {
      await scene.fifoQueue(queue)
      const results = await Promise.all(
        Array.from({ length: 50 }, () => scene.sendOne(queue, message('d'))),
      )
      const ids = results.map((result) => (result.status === 'refused' ? '' : result.id))
      assert.equal(results.filter(({ status }) => status === 'created').length, 1)
      assert.equal(new Set(ids).size, 1)
      assert.equal((await scene.counts(queue)).ready, 1)
    })

    suite.test('an id is remembered for five minutes', async (scene) => {
      const duplicate = await first(scene)
      await scene.advance(5 * minute - second)
      assert.deepEqual(await scene.sendOne(queue, message('same')), duplicate)
      await scene.advance(2 * second)
      created(await scene.sendOne(queue, message('same')))
    })

    suite.test('an id is remembered after its message was acknowledged', async (scene) => {
      const duplicate = await first(scene)
      const { receipt } = await scene.receiveOne(queue)
      await scene.acknowledge(queue, receipt)
      assert.deepEqual(await scene.sendOne(queue, message('same')), duplicate)
      assert.deepEqual(await scene.receiveBodies(queue), [])
    })

    suite.test('an id counts for the whole queue by default', async (scene) => {
      const duplicate = await first(scene)
      assert.deepEqual(await scene.sendOne(queue, message('same', 'other')), duplicate)
    })

    suite.test('an id counts within its group when the queue says so', async (scene) => {
      const duplicate = await first(scene, { deduplicationScope: 'group' })
      created(await scene.sendOne(queue, message('same', 'other')))
      assert.deepEqual(await scene.sendOne(queue, message('same')), duplicate)
    })

    suite.test('another queue remembers its own ids', async (scene) => {
      await first(scene)
      await scene.fifoQueue('other.fifo')
      created(await scene.sendOne('other.fifo', message('same')))
    })

    suite.test('the content stands in for a missing id when the queue says so', async (scene) => {
      await scene.fifoQueue(queue, { deduplicateByContent: true })
      const byContent: NewMessage = { body: 'content', group: 'g' }
      const { id, sequence } = created(await scene.sendOne(queue, byContent))
      const attributes = { other: { type: 'String', value: 'attribute' } }
      assert.deepEqual(await scene.sendOne(queue, { ...byContent, attributes }), {
        status: 'duplicate',
        id,
        sequence,
      })
      created(await scene.sendOne(queue, { ...byContent, body: 'other content' }))
      created(await scene.sendOne(queue, { ...byContent, deduplicationId: 'explicit' }))
      const [delivery] = await scene.receive(queue)
      // SHA-256 of the body alone, as hexadecimal digits.
      assert.equal(
        delivery?.deduplicationId,
        'ed7002b439e9ac845f22357d822bac1444730fbdb6016d3ec9432297b9ec9f73',
      )
    })

    suite.test('ids outside the rules are refused', async (scene) => {
      await scene.fifoQueue(queue)
      for (const id of ['', 'd'.repeat(129), 'with space', 'ü']) {
        assertRefused(await scene.sendOne(queue, message(id)), 'invalid_argument')
      }
    })

    suite.test('a purge forgets ids', async (scene) => {
      await first(scene)
      await scene.backend.purgeQueue({ queue })
      created(await scene.sendOne(queue, message('same')))
    })

    suite.needing('reopen').test('ids are remembered across a restart', async (scene) => {
      const duplicate = await first(scene)
      await scene.reopen()
      assert.deepEqual(await scene.sendOne(queue, message('same')), duplicate)
    })
  })
}
