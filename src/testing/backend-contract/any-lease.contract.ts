import assert from 'node:assert/strict'
import type { Delivery, LeaseResult } from '../../backends/backend.ts'
import { leaseMsMax } from '../../core/limits.ts'
import { enqueue } from './job-scene.ts'
import { assertRefused, hour, minute, only, type Scene, second } from './scene.ts'
import type { ContractSuite } from './suite.ts'

export async function leasedOne(scene: Scene, queue = 'q'): Promise<Delivery> {
  await scene.queue(queue, { visibilityMs: 10 * second })
  await scene.send(queue, 'body')
  return await scene.receiveOne(queue)
}

/** Extensions by a receipt whose lease has ended. */
export function describeAnyLease(suite: ContractSuite): void {
  const extendAny = async (
    scene: Scene,
    receipt: string,
    visibilityMs: number,
    queue = 'q',
  ): Promise<LeaseResult['status']> => {
    const leases = [{ receipt, visibilityMs, anyLease: true }]
    return only(await scene.backend.extend({ queue, leases })).status
  }

  suite.test('where any lease will do, a lapsed one hides the message again', async (scene) => {
    const { receipt } = await leasedOne(scene)
    await scene.advance(11 * second)
    assert.equal(await extendAny(scene, receipt, 20 * second), 'extended')
    assert.deepEqual(await scene.counts('q'), { ready: 0, leased: 1, delayed: 0 })
    await scene.advance(19 * second)
    assert.deepEqual(await scene.receiveBodies('q'), [])
    assert.equal((await scene.extend('q', receipt, 10 * second)).status, 'extended')
    await scene.advance(10 * second)
    assert.equal((await scene.receiveOne('q')).receiveCount, 2)
  })

  suite.test(
    'where any lease will do, an old one changes nothing under a live one',
    async (scene) => {
      const { receipt: old } = await leasedOne(scene)
      await scene.advance(11 * second)
      const { receipt: current } = await scene.receiveOne('q')
      for (const visibilityMs of [0, 20 * second, hour]) {
        const leases = [{ receipt: old, visibilityMs, anyLease: true }]
        const result = only(await scene.backend.extend({ queue: 'q', leases }))
        assert.deepEqual(result, { status: 'stale', isHeld: true })
      }
      assert.deepEqual(await scene.counts('q'), { ready: 0, leased: 1, delayed: 0 })
      await scene.advance(9 * second)
      assert.equal((await scene.extend('q', current, second)).status, 'extended')
      await scene.advance(second)
      assert.equal((await scene.receiveOne('q')).receiveCount, 3)
    },
  )

  suite.test(
    'with `anyLease`, a receiver that hides a message again can continue',
    async (scene) => {
      const { receipt: old } = await leasedOne(scene)
      await scene.advance(11 * second)
      const { receipt: later } = await scene.receiveOne('q')
      await scene.advance(11 * second)
      assert.equal(await extendAny(scene, old, 20 * second), 'extended')
      // The later receipt holds no lease by now, so both of them may change the message.
      assert.deepEqual(await scene.extend('q', later, minute), { status: 'stale' })
      assert.equal(await extendAny(scene, later, 30 * second), 'extended')
      assert.equal(await extendAny(scene, old, 0), 'extended')
      assert.deepEqual(await scene.counts('q'), { ready: 1, leased: 0, delayed: 0 })
      assert.equal((await scene.receiveOne('q')).receiveCount, 3)
    },
  )

  for (const isNoticed of [false, true]) {
    const when = isNoticed ? 'after' : 'before'
    suite.test(
      `where any lease will do, what can be received stays so, ${when} the lapse is noticed`,
      async (scene) => {
        const { receipt: old } = await leasedOne(scene)
        await scene.advance(11 * second)
        const { receipt: latest } = await scene.receiveOne('q')
        await scene.advance(11 * second)
        if (isNoticed) await scene.sweep()
        assert.equal(await extendAny(scene, old, 0), 'extended')
        assert.deepEqual(await scene.extend('q', latest, minute), { status: 'lapsed' })
        assert.equal((await scene.acknowledge('q', latest)).status, 'settled')
      },
    )
  }

  suite.test('with `anyLease`, a released lease blocks no receiver', async (scene) => {
    const { receipt } = await leasedOne(scene)
    await scene.settle('q', receipt, { kind: 'retry', delayMs: 0 })
    assert.equal(await extendAny(scene, receipt, 0), 'extended')
    assert.equal(await extendAny(scene, receipt, 20 * second), 'extended')
    assert.deepEqual(await scene.receiveBodies('q'), [])
    assert.deepEqual(await scene.extend('q', receipt, minute), { status: 'stale' })
    await scene.advance(20 * second)
    assert.deepEqual(await scene.receiveBodies('q'), ['body'])
  })

  suite.test('where any lease will do, none can be longer than a lease may be', async (scene) => {
    const { receipt } = await leasedOne(scene)
    await scene.advance(11 * second)
    const leases = [{ receipt, visibilityMs: leaseMsMax, anyLease: true }]
    assertRefused(only(await scene.backend.extend({ queue: 'q', leases })), 'invalid_argument')
    assert.deepEqual(await scene.counts('q'), { ready: 1, leased: 0, delayed: 0 })
  })

  suite.test('where any lease will do, it ends for good when the longest would', async (scene) => {
    const { receipt } = await leasedOne(scene)
    await scene.advance(leaseMsMax + second)
    const leases = [{ receipt, visibilityMs: 0, anyLease: true }]
    const extend = async () => only(await scene.backend.extend({ queue: 'q', leases }))
    assertRefused(await extend(), 'invalid_argument')
    // The same when the sweep has noticed that the lease is over.
    await scene.sweep()
    assertRefused(await extend(), 'invalid_argument')
  })

  suite
    .needing('fairTenants')
    .test('where any lease will do, a message that others go before is hidden', async (scene) => {
      await scene.queue('q', { visibilityMs: hour })
      const tenantOf = (group: string, count: number) =>
        Array.from({ length: count }, (_, index) => ({ body: `${group}${index}`, group }))
      await scene.send('q', ...tenantOf('loud', 31))
      const { receipt } = await scene.receiveOne('q', { visibilityMs: 10 * second })
      await scene.receive('q', { max: 30 })
      await scene.advance(11 * second)
      await scene.send('q', ...tenantOf('quiet', 1))
      assert.deepEqual(await scene.receiveBodies('q', { max: 1 }), ['quiet0'])
      assert.equal(await extendAny(scene, receipt, 0), 'extended')
      assert.equal(await extendAny(scene, receipt, 20 * second), 'extended')
      assert.deepEqual(await scene.counts('q'), { ready: 0, leased: 32, delayed: 0 })
      assert.deepEqual(await scene.receiveBodies('q'), [])
      await scene.advance(20 * second)
      assert.deepEqual(await scene.receiveBodies('q'), ['loud0'])
    })

  suite.test('with `anyLease`, no message that is gone returns', async (scene) => {
    const { receipt } = await leasedOne(scene)
    await scene.acknowledge('q', receipt)
    assert.equal(await extendAny(scene, receipt, minute), 'gone')
  })

  suite.needing('fifo').test('on a FIFO queue no other lease will do', async (scene) => {
    await scene.fifoQueue('q.fifo', { visibilityMs: 10 * second })
    await scene.sendToGroup('q.fifo', 'g', 'body')
    const { receipt } = await scene.receiveOne('q.fifo')
    await scene.advance(11 * second)
    assert.equal(await extendAny(scene, receipt, minute, 'q.fifo'), 'lapsed')
    assert.deepEqual(await scene.receiveBodies('q.fifo'), ['body'])
    assert.equal(await extendAny(scene, receipt, minute, 'q.fifo'), 'stale')
  })

  suite.needing('trackedJobs').test('for a job no other lease will do', async (scene) => {
    await scene.queue('q', { visibilityMs: 10 * second })
    await enqueue(scene)
    const { receipt } = await scene.receiveOne('q')
    await scene.advance(11 * second)
    assert.equal(await extendAny(scene, receipt, minute), 'lapsed')
    const { receipt: current } = await scene.receiveOne('q')
    assert.equal(await extendAny(scene, receipt, 0), 'stale')
    assert.equal((await scene.acknowledge('q', current)).status, 'settled')
  })
}
