import assert from 'node:assert/strict'
import type { Delivery } from '../../backends/backend.ts'
import { ofTenant } from './gate-scene.ts'
import { hour, minute, type Scene, second } from './scene.ts'
import type { ContractSuite } from './suite.ts'

export function describeFairTenants(suite: ContractSuite): void {
  suite.needing('fairTenants').describe('tenants of a standard queue', () => {
    describeNoise(suite.needing('fairTenants'))
    describeCalm(suite.needing('fairTenants'))
  })
}

function bodies(start: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${start}${index}`)
}

/** A queue in which so many messages of one tenant are in flight, and more of them wait. */
async function crowded(scene: Scene, inFlight: number): Promise<readonly Delivery[]> {
  await scene.queue('q', { visibilityMs: 8 * hour })
  await scene.send('q', ...ofTenant('loud', ...bodies('loud', inFlight + 20)))
  return await scene.receive('q', { max: inFlight })
}

function describeNoise(suite: ContractSuite): void {
  suite.test('are served before one that has most of what is in flight', async (scene) => {
    await crowded(scene, 30)
    await scene.send('q', ...ofTenant('quiet', 'q1', 'q2'), 'no tenant')
    assert.deepEqual(await scene.receiveBodies('q', { max: 4 }), [
      'q1',
      'q2',
      'no tenant',
      'loud30',
    ])
    assert.deepEqual(await scene.receiveBodies('q', { max: 2 }), ['loud31', 'loud32'])
    await scene.send('q', ...ofTenant('other', 'o1'))
    assert.deepEqual(await scene.receiveBodies('q', { max: 2 }), ['o1', 'loud33'])
    assert.deepEqual(await scene.counts('q'), { ready: 16, leased: 38, delayed: 0 })
  })

  suite.test('are served by age while none has 30 in flight', async (scene) => {
    await crowded(scene, 29)
    await scene.send('q', ...ofTenant('quiet', 'q1'))
    assert.deepEqual(await scene.receiveBodies('q', { max: 1 }), ['loud29'])
  })

  suite.test('are served by age while none has a tenth of what is in flight', async (scene) => {
    await scene.queue('q', { visibilityMs: hour })
    await scene.send('q', ...bodies('alone', 280))
    await scene.receive('q', { max: 280 })
    await scene.send('q', ...ofTenant('loud', ...bodies('loud', 40)))
    await scene.receive('q', { max: 31 })
    await scene.send('q', ...ofTenant('quiet', 'q1'))
    // 31 of 311 are less than a tenth; with the next one it is more.
    assert.deepEqual(await scene.receiveBodies('q', { max: 1 }), ['loud31'])
    assert.deepEqual(await scene.receiveBodies('q', { max: 1 }), ['q1'])
  })

  suite.test('without a group are never the one that has too much', async (scene) => {
    await scene.queue('q', { visibilityMs: hour })
    await scene.send('q', ...bodies('alone', 60))
    await scene.receive('q', { max: 50 })
    await scene.send('q', ...ofTenant('quiet', 'q1'))
    assert.deepEqual(await scene.receiveBodies('q', { max: 1 }), ['alone50'])
  })

  suite.test('that are quiet wake a receive that waits, and so do others', async (scene) => {
    await crowded(scene, 50)
    assert.equal((await scene.receive('q', { max: 20 })).length, 20)
    for (const tenant of ['quiet', 'loud']) {
      const waiting = scene.receive('q', { waitMs: 20 * second })
      await scene.send('q', ...ofTenant(tenant, tenant))
      assert.deepEqual(
        (await waiting).map(({ body }) => body),
        [tenant],
      )
    }
  })

  suite.test('are not kept waiting by a great backlog of another', async (scene) => {
    await crowded(scene, 30)
    for (let sent = 0; sent < 3; sent += 1) {
      await scene.send('q', ...ofTenant('loud', ...bodies('more', 1_000)))
    }
    await scene.send('q', ...ofTenant('quiet', 'q1'))
    const receives: string[] = []
    while (!receives.includes('q1')) {
      receives.push(...(await scene.receiveBodies('q', { max: 1 })))
      assert.ok(receives.length <= 5, 'each receive may pass over 1,000 messages')
    }
  })
}

function describeCalm(suite: ContractSuite): void {
  suite.test('are served by age again once nothing of the loud one is in flight', async (scene) => {
    const inFlight = await crowded(scene, 30)
    await scene.send('q', ...ofTenant('quiet', 'q1', 'q2'))
    const [first] = await scene.receive('q', { max: 1 })
    assert.equal(first?.body, 'q1')
    for (const { receipt } of inFlight) await scene.acknowledge('q', receipt)
    assert.deepEqual(await scene.receiveBodies('q', { max: 2 }), ['loud30', 'loud31'])
  })

  suite.test('remember for five minutes who was loud', async (scene) => {
    const inFlight = await crowded(scene, 30)
    await scene.send('q', ...ofTenant('quiet', ...bodies('q', 5)))
    assert.deepEqual(await scene.receiveBodies('q', { max: 1 }), ['q0'])
    for (const { receipt } of inFlight.slice(1)) await scene.acknowledge('q', receipt)
    await scene.advance(4 * minute)
    assert.deepEqual(await scene.receiveBodies('q', { max: 1 }), ['q1'])
    await scene.advance(2 * minute)
    assert.deepEqual(await scene.receiveBodies('q', { max: 1 }), ['loud30'])
  })

  suite.test('count no lease that has lapsed, was released or was dead-lettered', async (scene) => {
    const dead = await scene.queueWithDeadLetters('q', 5, { visibilityMs: 10 * second })
    await scene.send('q', ...ofTenant('loud', ...bodies('loud', 40)))
    const [released, deadLettered] = await scene.receive('q', { max: 30 })
    await scene.settle('q', released?.receipt ?? '', { kind: 'retry', delayMs: 0 })
    await scene.settle('q', deadLettered?.receipt ?? '', { kind: 'deadLetter', reason: 'no' })
    await scene.send('q', ...ofTenant('quiet', 'q1'))
    assert.deepEqual(await scene.receiveBodies('q', { max: 1 }), ['loud0'])
    await scene.advance(11 * second)
    assert.deepEqual(await scene.receiveBodies('q', { max: 1 }), ['loud0'])
    assert.deepEqual(await scene.receiveBodies(dead), ['loud1'])
  })
}
