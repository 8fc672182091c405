import assert from 'node:assert/strict'
import type { Emitted, Outcome } from '../../backends/backend.ts'
import {
  createFlowQueues,
  endMessages,
  flowsOf,
  messageTo,
  openFlow,
  pages,
  readFlow,
  readUnits,
  settleNext,
  settleWith,
  unitStates,
  unitsOf,
} from './flow-scene.ts'
import { jobsOf } from './job-scene.ts'
import { day, hour, minute, type Scene, second } from './scene.ts'
import type { ContractSuite } from './suite.ts'

const unreadable: Outcome = { kind: 'deadLetter', reason: 'unreadable' }

/** The state of the only unit, why it is dead, and whether the flow is done. */
async function fate(scene: Scene): Promise<unknown> {
  const [unit] = await readUnits(scene)
  return [unit?.state, unit?.reason, (await readFlow(scene)).status]
}

export function describeFlowMessages(all: ContractSuite): void {
  const suite = all.needing('flows', 'peek')
  const jobSuite = suite.needing('trackedJobs')

  suite.describe('a unit ends with its message:', () => {
    suite.test('it is done by an acknowledgement after the lease lapsed', async (scene) => {
      await createFlowQueues(scene)
      await openFlow(scene, unitsOf('a'))
      const { receipt } = await scene.receiveOne('work', { visibilityMs: second })
      await scene.advance(minute)
      assert.equal((await settleWith(scene, receipt)).status, 'settled')
      assert.deepEqual(await fate(scene), ['done', null, 'finalized'])
    })

    suite
      .needing('lateReceipts')
      .test(
        'it is done by a receipt of an earlier lease, if the caller asks for that',
        async (scene) => {
          await createFlowQueues(scene)
          await openFlow(scene, unitsOf('a'))
          const { receipt } = await scene.receiveOne('work', { visibilityMs: second })
          await scene.advance(minute)
          const later = await scene.receiveOne('work', { visibilityMs: second })
          const outcome = { kind: 'acknowledge', anyLease: true } as const
          assert.equal((await settleWith(scene, receipt, { outcome })).status, 'stale')
          assert.deepEqual(await fate(scene), ['pending', null, 'open'])
          await scene.advance(minute)
          await settleWith(scene, receipt, { outcome })
          assert.deepEqual(await fate(scene), ['done', null, 'finalized'])
          assert.equal((await settleWith(scene, later.receipt)).status, 'gone')
          assert.deepEqual(await endMessages(scene), ['book is done'])
        },
      )

    suite.test('a stale lease marks nothing', async (scene) => {
      await createFlowQueues(scene)
      await openFlow(scene, unitsOf('a'))
      const { receipt } = await scene.receiveOne('work', { visibilityMs: second })
      await scene.advance(minute)
      const later = await scene.receiveOne('work')
      for (const outcome of [{ kind: 'acknowledge' }, unreadable] as const) {
        assert.equal((await settleWith(scene, receipt, { outcome })).status, 'stale')
      }
      assert.deepEqual(await fate(scene), ['pending', null, 'open'])
      await settleWith(scene, later.receipt)
      assert.deepEqual(await fate(scene), ['done', null, 'finalized'])
    })

    suite.test('a retry and a release leave it pending', async (scene) => {
      await createFlowQueues(scene)
      await openFlow(scene, unitsOf('a'))
      await settleNext(scene, { kind: 'release' })
      await settleNext(scene, { kind: 'retry', delayMs: 0 })
      await settleNext(scene, { kind: 'retry', delayMs: second })
      assert.deepEqual(await fate(scene), ['pending', null, 'open'])
    })

    suite.test('it is dead when the message is dead-lettered', async (scene) => {
      await createFlowQueues(scene)
      await openFlow(scene, unitsOf('a'))
      await settleNext(scene, unreadable)
      assert.deepEqual(await fate(scene), ['dead', 'unreadable', 'open'])
    })

    suite.test('it is dead when the receives are used up', async (scene) => {
      await createFlowQueues(scene)
      await openFlow(scene, unitsOf('a'))
      for (let time = 0; time < 2; time += 1) {
        await scene.receiveOne('work', { visibilityMs: second })
        await scene.advance(minute)
      }
      assert.equal((await readFlow(scene)).units.pending, 1)
      assert.deepEqual(await scene.receive('work'), [])
      assert.equal((await readFlow(scene)).units.dead, 1)
      assert.deepEqual(await scene.peekBodies('work-dead', 'ready'), ['a'])
    })

    suite.test('it is dead when the message expires, received or not', async (scene) => {
      await createFlowQueues(scene)
      await scene.backend.changeQueue({ queue: 'work', changes: { retentionMs: hour } })
      await openFlow(scene, unitsOf('a', 'b'))
      await scene.receiveOne('work', { visibilityMs: 2 * hour })
      await scene.advance(hour)
      await scene.sweep()
      assert.deepEqual(await unitStates(scene), { a: 'dead', b: 'dead' })
      assert.equal((await readFlow(scene)).failure?.reason, 'Its message has expired.')
    })

    suite.test('it fails by an acknowledgement after the retention', async (scene) => {
      await createFlowQueues(scene)
      await scene.backend.changeQueue({ queue: 'work', changes: { retentionMs: hour } })
      await openFlow(scene, unitsOf('a'))
      const { receipt } = await scene.receiveOne('work', { visibilityMs: 2 * hour })
      await scene.advance(hour)
      assert.equal((await settleWith(scene, receipt)).status, 'gone')
      assert.deepEqual(await fate(scene), ['dead', 'Its message has expired.', 'open'])
    })

    suite.test('it is dead when the queue is purged or deleted', async (scene) => {
      await createFlowQueues(scene)
      for (const end of ['purgeQueue', 'deleteQueue'] as const) {
        await scene.queue(end)
        const work = (body: string): Emitted => ({ queue: end, message: { body } })
        const ids = ['ready', 'held', 'late']
        await openFlow(
          scene,
          ids.map((id) => ({ id, work: work(id) })),
          { id: end },
        )
        await scene.receive(end, { max: 2 })
        await scene.backend[end]({ queue: end })
        await scene.sweep()
        assert.deepEqual(await unitStates(scene, end), {
          ready: 'dead',
          held: 'dead',
          late: 'dead',
        })
      }
    })

    for (const end of ['purge', 'last receive'] as const) {
      suite.test(
        `a ${end} of many messages leaves it pending that the first of them gave another one`,
        async (scene) => {
          await createFlowQueues(scene)
          await openFlow(scene, [{ id: 'a' }])
          const parent = { ...pages, unit: 'a' }
          await openFlow(scene, unitsOf('x'), { id: 'part', parent, onUnitFailure: 'finalize' })
          await flowsOf(scene).start({ ...parent, work: messageTo('work', 'a') })
          if (end === 'purge') {
            await scene.backend.purgeQueue({ queue: 'work' })
            await scene.sweep()
          } else {
            for (const count of [2, 2, 0]) {
              const visibilityMs = second
              assert.equal((await scene.receive('work', { max: 10, visibilityMs })).length, count)
              await scene.advance(minute)
            }
          }
          assert.deepEqual(await unitStates(scene, 'part'), { x: 'dead' })
          assert.deepEqual(await fate(scene), ['pending', null, 'open'])
          await settleNext(scene, { kind: 'acknowledge' }, { queue: 'ends' })
          assert.deepEqual(await fate(scene), ['done', null, 'finalized'])
        },
      )
    }

    suite.test(
      'a message that lost its unit in the receive that gives it out has none',
      async (scene) => {
        await createFlowQueues(scene)
        await openFlow(scene, [{ id: 'a' }])
        const parent = { ...pages, unit: 'a' }
        await openFlow(scene, unitsOf('x'), { id: 'part', parent, onUnitFailure: 'finalize' })
        for (let time = 0; time < 2; time += 1) {
          await scene.receiveOne('work', { visibilityMs: second })
          await scene.advance(minute)
        }
        await flowsOf(scene).start({ ...parent, work: messageTo('work', 'a') })
        // The first of two messages has used its receives up; its end gives the unit another message.
        const [delivery] = await scene.receive('work', { max: 10 })
        assert.deepEqual([delivery?.body, delivery?.unit], ['a', null])
      },
    )

    suite.test('it has work again when its dead letter is moved back', async (scene) => {
      await createFlowQueues(scene)
      await openFlow(scene, unitsOf('a'))
      await settleNext(scene, unreadable)
      await scene.backend.startMoveTask({ source: 'work-dead' })
      await scene.sweep()
      assert.deepEqual(await fate(scene), ['pending', null, 'open'])
      const { id, receipt, unit } = await scene.receiveOne('work')
      assert.equal(unit?.unit, 'a')
      assert.equal((await readUnits(scene))[0]?.messageId, id)
      await settleWith(scene, receipt)
      assert.deepEqual(await fate(scene), ['done', null, 'finalized'])
    })

    suite.test('it is done when its dead letter is acknowledged', async (scene) => {
      await createFlowQueues(scene)
      await openFlow(scene, unitsOf('a'))
      await settleNext(scene, unreadable)
      await settleNext(scene, { kind: 'acknowledge' }, { queue: 'work-dead' })
      assert.deepEqual(await fate(scene), ['done', null, 'finalized'])
      assert.deepEqual((await readFlow(scene)).units, { total: 1, done: 1, dead: 0, pending: 0 })
    })

    suite.test('a dead letter that goes leaves it dead', async (scene) => {
      await createFlowQueues(scene)
      await openFlow(scene, unitsOf('a'))
      await settleNext(scene, unreadable)
      await scene.backend.purgeQueue({ queue: 'work-dead' })
      await scene.sweep()
      assert.deepEqual(await fate(scene), ['dead', 'unreadable', 'open'])
      assert.equal((await readUnits(scene))[0]?.messageId, null)
    })

    suite.needing('fifo').test('FIFO queues keep the unit through all of it', async (scene) => {
      await createFlowQueues(scene)
      await scene.queueWithDeadLetters('order.fifo', 1, { type: 'fifo' })
      const work: Emitted = {
        queue: 'order.fifo',
        message: { body: 'same', group: 'g', deduplicationId: 'same' },
      }
      // The second one would be a duplicate of the first, were it not another unit.
      await openFlow(scene, [
        { id: 'a', work },
        { id: 'b', work },
      ])
      await settleNext(scene, unreadable, { queue: 'order.fifo' })
      await settleNext(scene, { kind: 'acknowledge' }, { queue: 'order.fifo' })
      const [letter] = await scene.peek('order-dead.fifo', 'ready')
      assert.equal((await readUnits(scene))[0]?.messageId, letter?.id)
      await scene.backend.startMoveTask({ source: 'order-dead.fifo' })
      await scene.sweep()
      assert.deepEqual(await unitStates(scene), { a: 'pending', b: 'done' })
      await settleNext(scene, { kind: 'acknowledge' }, { queue: 'order.fifo' })
      assert.deepEqual(await endMessages(scene), ['book is done'])
    })

    suite.test('what is kept with messages is kept with those of flows', async (scene) => {
      await createFlowQueues(scene)
      const attributes = {
        kind: { type: 'String', value: 'page' },
        raw: { type: 'Binary', value: new Uint8Array([0, 255]) },
      }
      const emission = (queue: string): Emitted => ({
        queue,
        message: { body: 'large'.repeat(1_000), attributes, delayMs: second },
      })
      await openFlow(scene, [{ id: 'a', work: emission('work') }], { finalize: emission('ends') })
      assert.deepEqual(await scene.receive('work'), [])
      await scene.advance(second)
      await settleNext(scene)
      await scene.advance(second)
      const [end] = await scene.receive('ends')
      assert.deepEqual([end?.attributes, end?.body.length], [attributes, 5_000])
    })
  })

  jobSuite.describe('a unit ends with its job:', () => {
    const work: Emitted = {
      queue: 'work',
      job: { type: 'OCR', payload: '1', maxAttempts: 1 },
    }

    jobSuite.test('it is done when the job is completed', async (scene) => {
      await createFlowQueues(scene)
      await openFlow(scene, [{ id: 'a', work }])
      await settleNext(scene, { kind: 'acknowledge', result: '2' })
      assert.deepEqual(await fate(scene), ['done', null, 'finalized'])
    })

    jobSuite.test(
      'it fails when the job fails, and continues when the job is retried',
      async (scene) => {
        await createFlowQueues(scene)
        await openFlow(scene, [{ id: 'a', work }])
        await settleNext(scene, unreadable)
        assert.deepEqual(await fate(scene), ['dead', 'unreadable', 'open'])
        const [failed] = (await jobsOf(scene).list({ queue: 'work', limit: 10 })).items
        const retried = await jobsOf(scene).retry({ id: failed?.id ?? '' })
        assert.deepEqual(await fate(scene), ['pending', null, 'open'])
        assert.equal((await readUnits(scene))[0]?.messageId, retried.id)
        // The dead letter works on no unit now.
        await settleNext(scene, { kind: 'acknowledge' }, { queue: 'work-dead' })
        assert.deepEqual(await fate(scene), ['pending', null, 'open'])
        await settleNext(scene)
        assert.deepEqual(await fate(scene), ['done', null, 'finalized'])
      },
    )

    jobSuite.test('it fails when a job without a dead-letter queue fails', async (scene) => {
      await createFlowQueues(scene)
      await scene.queue('bare')
      await openFlow(scene, [{ id: 'a', work: { ...work, queue: 'bare' } }])
      await settleNext(scene, unreadable, { queue: 'bare' })
      assert.deepEqual(await fate(scene), ['dead', 'unreadable', 'open'])
    })

    jobSuite.test('it fails when the last attempt of the job is lost', async (scene) => {
      await createFlowQueues(scene)
      await openFlow(scene, [{ id: 'a', work }])
      await scene.receiveOne('work', { visibilityMs: second })
      await scene.advance(minute)
      await scene.sweep()
      assert.equal((await readFlow(scene)).units.dead, 1)
    })

    jobSuite.test(
      'it fails when the job is cancelled, and continues with its retry',
      async (scene) => {
        await createFlowQueues(scene)
        await openFlow(scene, [{ id: 'a', work }])
        const { id = '', receipt } = await scene.receiveOne('work')
        await jobsOf(scene).cancel({ id })
        assert.deepEqual(await fate(scene), ['dead', 'Its job was cancelled.', 'open'])
        assert.equal((await settleWith(scene, receipt)).status, 'gone')
        await jobsOf(scene).retry({ id })
        await settleNext(scene)
        assert.deepEqual(await fate(scene), ['done', null, 'finalized'])
      },
    )

    jobSuite.test('the key of a job does not keep a unit from having its own', async (scene) => {
      await createFlowQueues(scene)
      const idempotency = { key: 'k', lifetimeMs: day }
      const job = { type: 'OCR', payload: '1', maxAttempts: 1, idempotency }
      await jobsOf(scene).enqueue({ queue: 'work', jobs: [job] })
      await openFlow(scene, [{ id: 'a', work: { queue: 'work', job: { ...job, payload: '2' } } }])
      assert.deepEqual(await scene.peekBodies('work', 'ready'), ['1', '2'])
      assert.equal(await flowsOf(scene).read({ flow: 'none', id: 'x' }), undefined)
    })
  })
}
