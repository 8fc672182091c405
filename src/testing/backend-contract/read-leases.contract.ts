import assert from 'node:assert/strict'
import type { Delivery } from '../../backends/backend.ts'
import { createFlowQueues, openFlow, pages, unitsOf } from './flow-scene.ts'
import { enqueue } from './job-scene.ts'
import { minute, only, rejects, type Scene, second } from './scene.ts'
import type { ContractSuite } from './suite.ts'

/** Reading what a receipt names, for programs that get deliveries from elsewhere, such as functions. */
export function describeReadLeases(suite: ContractSuite): void {
  suite.describe('reading leases', () => {
    describeMessages(suite)
    suite.needing('trackedJobs').test('the delivery of a job names the job', async (scene) => {
      await scene.queue('q')
      await enqueue(scene, { owner: 'ann', tier: 'lite' })
      const received = await scene.receiveOne('q')
      assert.deepEqual(await read(scene, received.receipt), [received])
      await scene.settle('q', received.receipt, { kind: 'retry', delayMs: 0, error: 'no' })
      const second = await scene.receiveOne('q')
      assert.equal(second.job?.attempt, 2)
      assert.deepEqual(await read(scene, received.receipt, second.receipt), [null, second])
    })
    suite.needing('flows').test('the delivery of a unit names the unit', async (scene) => {
      await createFlowQueues(scene)
      await openFlow(scene, unitsOf('p1'))
      const received = await scene.receiveOne('work')
      const request = { queue: 'work', receipts: [received.receipt] }
      const delivery = only(await scene.backend.readLeases(request))
      assert.deepEqual(delivery, received)
      assert.deepEqual(delivery?.unit, { ...pages, unit: 'p1' })
    })
  })
}

function read(
  { backend }: Scene,
  ...receipts: readonly string[]
): Promise<readonly (Delivery | null)[]> {
  return backend.readLeases({ queue: 'q', receipts })
}

function describeMessages(suite: ContractSuite): void {
  suite.test('a live lease is read as it was received', async (scene) => {
    await scene.queue('q', { visibilityMs: 10 * second })
    const attributes = { size: { type: 'Number', value: '3' } }
    await scene.send('q', { body: 'x'.repeat(5_000), attributes, group: 'g' }, 'small')
    const received = await scene.receive('q', { max: 2 })
    const receipts = received.map(({ receipt }) => receipt)
    await scene.advance(second)
    assert.deepEqual(await read(scene, ...receipts), received)
    assert.deepEqual(await scene.counts('q'), { ready: 0, leased: 2, delayed: 0 })
  })

  suite.test('the end of an extended lease is the new one', async (scene) => {
    await scene.queue('q', { visibilityMs: 10 * second })
    await scene.send('q', 'body')
    const { receipt } = await scene.receiveOne('q')
    const extended = await scene.extend('q', receipt, minute)
    assert.ok(extended.status === 'extended')
    const delivery = only(await read(scene, receipt))
    assert.equal(delivery?.leaseExpiresAt, extended.leaseExpiresAt)
  })

  suite.test('a lease that has ended, and a receipt from elsewhere, are null', async (scene) => {
    await scene.queue('q', { visibilityMs: 10 * second })
    await scene.queue('other')
    await scene.send('q', 'body')
    await scene.send('other', 'body')
    const { receipt } = await scene.receiveOne('q')
    const { receipt: foreign } = await scene.receiveOne('other')
    await scene.advance(10 * second)
    assert.deepEqual(await read(scene, receipt, foreign, 'garbage'), [null, null, null])
    const { receipt: later } = await scene.receiveOne('q')
    assert.equal((await read(scene, receipt, later)).filter((one) => one !== null).length, 1)
    await scene.acknowledge('q', later)
    assert.deepEqual(await read(scene, later), [null])
    await rejects(read(scene), 'invalid_argument')
    await rejects(
      scene.backend.readLeases({ queue: 'nowhere', receipts: [later] }),
      'queue_not_found',
    )
  })
}
