import assert from 'node:assert/strict'
import {
  everyPage,
  lift,
  ofTenant,
  receiveWithin,
  sendMany,
  switchesOf,
  turnOn,
} from './gate-scene.ts'
import { enqueue, jobsOf, readJob } from './job-scene.ts'
import { minute, second } from './scene.ts'
import type { ContractSuite } from './suite.ts'

export function describeHeldMessages(all: ContractSuite): void {
  const suite = all.needing('killSwitches')
  suite.describe('messages that a kill switch holds', () => {
    describeWaiting(suite)
    describeEnds(suite)
  })
}

function describeWaiting(suite: ContractSuite): void {
  suite.test('a switch turns itself off when its time is over', async (scene) => {
    await scene.queue('q')
    await scene.send('q', ...ofTenant('x', 'x1'))
    await turnOn(scene, 'tenant', 'x', { forMs: minute })
    await scene.advance(minute - 1)
    assert.deepEqual(await scene.receiveBodies('q'), [])
    await scene.advance(1)
    assert.deepEqual(await switchesOf(scene).list(), [])
    assert.deepEqual(await scene.receiveBodies('q'), ['x1'])
  })

  suite.test('thousands of held messages cost those behind them little', async (scene) => {
    await scene.queue('q')
    await turnOn(scene, 'tenant', 'x')
    await sendMany(scene, 'q', 5_000, (index) => ({ body: `x${index}`, group: 'x' }))
    await scene.send('q', 'free')
    assert.equal((await receiveWithin(scene, 'q', 7)).body, 'free')
    await scene.send('q', 'free too')
    assert.equal((await scene.receiveOne('q')).body, 'free too', 'they are out of the way now')
    await lift(scene, 'tenant', 'x')
    assert.equal((await scene.receiveOne('q')).body, 'x0')
  })

  suite.needing('peek').test('held messages are ready to all who look', async (scene) => {
    await scene.queue('q')
    await scene.send('q', ...ofTenant('x', 'x1'), 'a', ...ofTenant('x', 'x2'), 'b')
    await turnOn(scene, 'tenant', 'x')
    await scene.receiveOne('q')
    await scene.advance(5 * second)
    assert.deepEqual(await scene.counts('q'), { ready: 3, leased: 1, delayed: 0 })
    assert.equal((await scene.statistics('q')).oldestReadyAgeMs, 5 * second)
    const messages = await everyPage((after) =>
      scene.backend.peek({ queue: 'q', state: 'ready', limit: 1, ...after }),
    )
    assert.ok(messages.every(({ state, dueAt }) => state === 'ready' && dueAt === null))
    assert.deepEqual(
      messages.map(({ body }) => body),
      ['x1', 'x2', 'b'],
    )
  })
}

function describeEnds(suite: ContractSuite): void {
  suite.test('held messages expire as others do', async (scene) => {
    await scene.queue('q', { retentionMs: 2 * minute })
    await turnOn(scene, 'tenant', 'x')
    await scene.send('q', ...ofTenant('x', 'x1'))
    assert.deepEqual(await scene.receiveBodies('q'), [])
    await scene.advance(minute)
    await scene.send('q', ...ofTenant('x', 'x2'))
    assert.deepEqual(await scene.receiveBodies('q'), [])
    await scene.advance(minute)
    assert.deepEqual(await scene.counts('q'), { ready: 1, leased: 0, delayed: 0 })
    await scene.sweep()
    assert.equal((await scene.statistics('q')).totals.expired, 1)
    await lift(scene, 'tenant', 'x')
    assert.deepEqual(await scene.receiveBodies('q'), ['x2'])
  })

  suite.test('a change of the retention reaches held messages', async (scene) => {
    await scene.queue('q', { retentionMs: 10 * minute })
    await turnOn(scene, 'tenant', 'x')
    const change = (retentionMs: number): Promise<unknown> =>
      scene.backend.changeQueue({ queue: 'q', changes: { retentionMs } })
    await scene.send('q', ...ofTenant('x', 'x1'))
    assert.deepEqual(await scene.receiveBodies('q'), [])
    await change(20 * minute)
    await scene.advance(15 * minute)
    await scene.sweep()
    assert.equal((await scene.counts('q')).ready, 1)
    await change(16 * minute)
    await scene.advance(minute)
    await scene.sweep()
    assert.equal((await scene.counts('q')).ready, 0)
  })

  suite.test('held messages are purged, and deleted with their queue', async (scene) => {
    await turnOn(scene, 'tenant', 'x')
    for (const end of ['purge', 'delete'] as const) {
      await scene.queue('q')
      await scene.send('q', ...ofTenant('x', 'x1', 'x2'))
      assert.deepEqual(await scene.receiveBodies('q'), [])
      if (end === 'purge') await scene.backend.purgeQueue({ queue: 'q' })
      else await scene.backend.deleteQueue({ queue: 'q' })
      await scene.sweep()
      await scene.queue('q')
      assert.deepEqual(await scene.counts('q'), { ready: 0, leased: 0, delayed: 0 })
    }
    await lift(scene, 'tenant', 'x')
    assert.deepEqual(await scene.receiveBodies('q'), [])
  })

  suite
    .needing('lateReceipts')
    .test('a message whose lease lapsed can be acknowledged while it is held', async (scene) => {
      await scene.queue('q')
      await scene.send('q', ...ofTenant('x', 'x1'))
      const { receipt } = await scene.receiveOne('q', { visibilityMs: second })
      await turnOn(scene, 'tenant', 'x')
      await scene.advance(second)
      assert.deepEqual(await scene.receiveBodies('q'), [])
      assert.equal((await scene.acknowledge('q', receipt)).status, 'settled')
      assert.deepEqual(await scene.counts('q'), { ready: 0, leased: 0, delayed: 0 })
    })

  suite.test('a move task takes held dead letters along', async (scene) => {
    const dead = await scene.queueWithDeadLetters('q', 1)
    await scene.send('q', ...ofTenant('x', 'x1', 'x2'), 'a')
    for (const { receipt } of await scene.receive('q')) {
      await scene.settle('q', receipt, { kind: 'deadLetter', reason: 'no use' })
    }
    await turnOn(scene, 'tenant', 'x')
    assert.deepEqual(await scene.receiveBodies(dead, { max: 1 }), ['a'])
    await lift(scene, 'tenant', 'x')
    await scene.backend.startMoveTask({ source: dead })
    await scene.sweep()
    assert.deepEqual(await scene.receiveBodies('q'), ['x1', 'x2'])
  })

  suite.needing('trackedJobs').test('a held job is pending and can be cancelled', async (scene) => {
    await scene.queue('q')
    await turnOn(scene, 'type', 'OCR')
    const { id } = await enqueue(scene, { type: 'OCR' })
    assert.deepEqual(await scene.receive('q'), [])
    assert.deepEqual([(await readJob(scene, id)).status], ['pending'])
    assert.equal((await jobsOf(scene).cancel({ id })).status, 'cancelled')
    assert.deepEqual(await scene.counts('q'), { ready: 0, leased: 0, delayed: 0 })
    await lift(scene, 'type', 'OCR')
    assert.deepEqual(await scene.receive('q'), [])
  })

  suite.needing('reopen').test('switches and what they hold outlive a restart', async (scene) => {
    await scene.queue('q')
    await turnOn(scene, 'tenant', 'x')
    await scene.send('q', ...ofTenant('x', 'x1'), 'a')
    assert.deepEqual(await scene.receiveBodies('q'), ['a'])
    await scene.reopen()
    assert.deepEqual(await scene.receiveBodies('q'), [])
    await lift(scene, 'tenant', 'x')
    assert.deepEqual(await scene.receiveBodies('q'), ['x1'])
  })
}
