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
import { hour, minute, rejects, second } from './scene.ts'
import type { ContractSuite } from './suite.ts'

const unreadable: Outcome = { kind: 'deadLetter', reason: 'unreadable' }

export function describeFlowEnds(all: ContractSuite): void {
  const suite = all.needing('flows', 'peek')

  suite.describe('when a unit is dead', () => {
    suite.test('a flow that waits is open until it is brought back', async (scene) => {
      await createFlowQueues(scene)
      await openFlow(scene, unitsOf('a', 'b'), { onUnitFailure: 'wait' })
      await settleNext(scene, unreadable)
      await settleNext(scene)
      const waiting = await readFlow(scene)
      assert.deepEqual(waiting.failure, { unit: 'a', reason: 'unreadable' })
      assert.deepEqual([waiting.status, await endMessages(scene)], ['open', []])
      await scene.backend.startMoveTask({ source: 'work-dead' })
      await scene.sweep()
      await settleNext(scene)
      assert.deepEqual(await endMessages(scene), ['book is done'])
      assert.equal((await readFlow(scene)).failure, null)
    })

    suite.test('with `fail`, the flow fails at once, whatever is pending', async (scene) => {
      await createFlowQueues(scene)
      await openFlow(scene, unitsOf('a', 'b'), { onUnitFailure: 'fail', sealed: false })
      await settleNext(scene, unreadable)
      const failed = await readFlow(scene)
      assert.deepEqual(
        [failed.status, failed.failure],
        ['failed', { unit: 'a', reason: 'unreadable' }],
      )
      assert.notEqual(failed.endedAt, null)
      assert.deepEqual(await endMessages(scene), ['book has failed'])
      // Later marks are stored, and do not change the flow.
      await settleNext(scene)
      const later = await readFlow(scene)
      assert.deepEqual([later.status, later.units.done], ['failed', 1])
      assert.deepEqual(await endMessages(scene), ['book has failed'])
    })

    suite.test('with `finalize`, the flow ends without the unit', async (scene) => {
      await createFlowQueues(scene)
      await openFlow(scene, unitsOf('a', 'b'), { onUnitFailure: 'finalize' })
      await settleNext(scene, unreadable)
      assert.deepEqual(await endMessages(scene), [])
      await settleNext(scene)
      const record = await readFlow(scene)
      assert.deepEqual([record.status, record.units.dead], ['finalized', 1])
      assert.deepEqual(await endMessages(scene), ['book is done'])
      await settleNext(scene, { kind: 'acknowledge' }, { queue: 'work-dead' })
      assert.deepEqual((await readFlow(scene)).units, { total: 2, done: 2, dead: 0, pending: 0 })
      assert.deepEqual(await endMessages(scene), ['book is done'])
    })

    suite.test('a flow ends with the last unit, even if that unit has failed', async (scene) => {
      await createFlowQueues(scene)
      await openFlow(scene, unitsOf('a', 'b'), { onUnitFailure: 'finalize' })
      await settleNext(scene)
      await settleNext(scene, unreadable)
      assert.deepEqual(await endMessages(scene), ['book is done'])
    })
  })

  suite.describe('a deadline', () => {
    suite.test('makes a flow overdue, which continues', async (scene) => {
      await createFlowQueues(scene)
      await openFlow(scene, unitsOf('a'), { deadlineMs: hour })
      await openFlow(scene, unitsOf('b'), { id: 'in time', deadlineMs: 2 * hour })
      const overdue = async (): Promise<unknown> => {
        const { items } = await flowsOf(scene).list({ prefix: '', overdue: true, limit: 10 })
        return items.map(({ id }) => id)
      }
      await scene.advance(hour - 1)
      await scene.sweep()
      assert.equal((await readFlow(scene)).isOverdue, false)
      assert.deepEqual(await overdue(), [])
      await scene.advance(1)
      await scene.sweep()
      assert.equal((await readFlow(scene)).isOverdue, true)
      assert.deepEqual(await overdue(), ['book'])
      await settleNext(scene)
      assert.deepEqual([(await readFlow(scene)).isOverdue, await overdue()], [false, []])
      assert.deepEqual(await endMessages(scene), ['book is done'])
    })

    suite.test('ends a flow, if so declared', async (scene) => {
      await createFlowQueues(scene)
      for (const onDeadline of ['fail', 'finalize'] as const) {
        const changes = { id: onDeadline, deadlineMs: hour, onDeadline, sealed: false }
        await openFlow(scene, unitsOf(onDeadline), changes)
      }
      await scene.advance(hour)
      await scene.sweep()
      const failed = await readFlow(scene, 'fail')
      assert.deepEqual(
        [failed.status, failed.failure],
        ['failed', { unit: null, reason: 'It was not done at its deadline.' }],
      )
      const ended = await readFlow(scene, 'finalize')
      assert.deepEqual([ended.status, ended.isSealed, ended.units.pending], ['finalized', true, 1])
      assert.deepEqual(await endMessages(scene), ['finalize is done', 'fail has failed'])
      await scene.sweep()
      await settleNext(scene)
      await settleNext(scene)
      assert.deepEqual(await endMessages(scene), ['finalize is done', 'fail has failed'])
    })

    suite.test('does not end a flow again that was resumed after it', async (scene) => {
      await createFlowQueues(scene)
      await openFlow(scene, unitsOf('a'), { deadlineMs: hour, onDeadline: 'fail' })
      await scene.advance(hour)
      await scene.sweep()
      const { status, isOverdue } = await flowsOf(scene).resume({ ...pages, unit: 'a' })
      assert.deepEqual([status, isOverdue], ['open', true])
      await scene.advance(hour)
      await scene.sweep()
      const { items } = await flowsOf(scene).list({ prefix: '', overdue: true, limit: 10 })
      assert.deepEqual(
        items.map(({ id }) => id),
        ['book'],
      )
      await settleNext(scene)
      assert.deepEqual(await endMessages(scene), ['book is done', 'book has failed'])
    })

    suite.test('means nothing to a flow that has ended before', async (scene) => {
      await createFlowQueues(scene)
      await openFlow(scene, unitsOf('a'), { deadlineMs: hour, onDeadline: 'fail' })
      await settleNext(scene)
      await scene.advance(2 * hour)
      await scene.sweep()
      assert.equal((await readFlow(scene)).status, 'finalized')
      assert.deepEqual(await endMessages(scene), ['book is done'])
    })
  })

  suite.describe('cancelling a flow', () => {
    suite
      .needing('exactFigures')
      .test('ends it at once and removes its messages, except those in flight', async (scene) => {
        await createFlowQueues(scene)
        const later: Emitted = { queue: 'work', message: { body: 'later', delayMs: minute } }
        await openFlow(scene, [...unitsOf('a', 'b'), { id: 'later', work: later }, { id: 'bare' }])
        await scene.send('work', 'without an owner')
        const held = await scene.receiveOne('work')
        assert.equal((await flowsOf(scene).cancel(pages)).status, 'cancelled')
        await scene.sweep()
        assert.deepEqual(await scene.counts('work'), { ready: 1, leased: 1, delayed: 0 })
        assert.deepEqual(await scene.peekBodies('work', 'ready'), ['without an owner'])
        assert.deepEqual(await unitStates(scene), {
          a: 'pending',
          b: 'dead',
          later: 'dead',
          bare: 'dead',
        })
        await settleWith(scene, held.receipt)
        const record = await readFlow(scene)
        assert.deepEqual([record.status, record.units.done], ['cancelled', 1])
        assert.deepEqual(await endMessages(scene), [])
        assert.equal((await flowsOf(scene).cancel(pages)).status, 'cancelled')
      })

    suite.test('removes later what was leased and was not done', async (scene) => {
      await createFlowQueues(scene)
      await openFlow(scene, unitsOf('a', 'b'))
      const { receipt } = await scene.receiveOne('work')
      await scene.receiveOne('work', { visibilityMs: second })
      await flowsOf(scene).cancel(pages)
      await scene.sweep()
      assert.equal((await scene.counts('work')).leased, 2)
      await settleWith(scene, receipt, { outcome: { kind: 'retry', delayMs: 0 } })
      await scene.advance(minute)
      await scene.sweep()
      assert.deepEqual(await scene.counts('work'), { ready: 0, leased: 0, delayed: 0 })
      assert.deepEqual(await unitStates(scene), { a: 'dead', b: 'dead' })
    })

    suite.test('takes back thousands of messages in slices', async (scene) => {
      await createFlowQueues(scene)
      await openFlow(scene, [], { sealed: false })
      for (const slice of [0, 1, 2]) {
        const ids = Array.from({ length: 500 }, (_, index) => `${slice}-${index}`)
        await flowsOf(scene).add({ ...pages, units: unitsOf(...ids) })
      }
      await flowsOf(scene).cancel(pages)
      const { more } = await scene.backend.sweep()
      assert.ok(more)
      await scene.sweep()
      assert.equal((await scene.counts('work')).ready, 0)
      assert.deepEqual((await readFlow(scene)).units, {
        total: 1_500,
        done: 0,
        dead: 1_500,
        pending: 0,
      })
    })

    suite.needing('trackedJobs').test('cancels the jobs of its units', async (scene) => {
      await createFlowQueues(scene)
      const work: Emitted = { queue: 'work', job: { type: 'OCR', payload: '1', maxAttempts: 1 } }
      await openFlow(scene, [{ id: 'a', work }])
      await flowsOf(scene).cancel(pages)
      await scene.sweep()
      const { items } = await jobsOf(scene).list({ queue: 'work', limit: 10 })
      assert.deepEqual(
        items.map(({ status }) => status),
        ['cancelled'],
      )
    })

    suite.test('is refused when the flow has ended', async (scene) => {
      await createFlowQueues(scene)
      await openFlow(scene, [])
      await rejects(flowsOf(scene).cancel(pages), 'flow_finished')
      await rejects(flowsOf(scene).resume({ ...pages, unit: 'a' }), 'flow_finished')
    })
  })

  suite.describe('resuming a flow', () => {
    suite.test('sends the work of a unit again, once', async (scene) => {
      await createFlowQueues(scene)
      await openFlow(scene, unitsOf('a', 'b'), { onUnitFailure: 'fail', keepsWork: false })
      await settleNext(scene, unreadable)
      const work = messageTo('work', 'a again')
      for (let time = 0; time < 2; time += 1) {
        const { status, failure } = await flowsOf(scene).resume({ ...pages, unit: 'a', work })
        assert.deepEqual([status, failure], ['open', null])
      }
      assert.deepEqual(await scene.peekBodies('work', 'ready'), ['b', 'a again'])
      await settleNext(scene)
      await settleNext(scene)
      assert.deepEqual(await endMessages(scene), ['book is done', 'book has failed'])
    })

    suite.test('releases the former message, however it ends', async (scene) => {
      await createFlowQueues(scene)
      await openFlow(scene, unitsOf('a'))
      await settleNext(scene, unreadable)
      await flowsOf(scene).resume({ ...pages, unit: 'a', work: messageTo('work', 'a again') })
      await settleNext(scene, { kind: 'acknowledge' }, { queue: 'work-dead' })
      assert.deepEqual(await unitStates(scene), { a: 'pending' })
      await settleNext(scene)
      assert.deepEqual(await endMessages(scene), ['book is done'])
    })

    suite.test('sends what the flow remembers, and leaves the other units alone', async (scene) => {
      await createFlowQueues(scene)
      await openFlow(scene, unitsOf('a', 'b'), { keepsWork: true })
      await settleNext(scene, unreadable)
      await settleNext(scene)
      const { units: counted } = await flowsOf(scene).resume({ ...pages, unit: 'a' })
      assert.deepEqual(counted, { total: 2, done: 1, dead: 0, pending: 1 })
      assert.deepEqual(await scene.peekBodies('work', 'ready'), ['a'])
      await settleNext(scene)
      assert.deepEqual(await endMessages(scene), ['book is done'])
    })

    suite.test('needs a message where the flow remembers none', async (scene) => {
      await createFlowQueues(scene)
      await openFlow(scene, unitsOf('a'))
      await settleNext(scene, unreadable)
      await rejects(flowsOf(scene).resume({ ...pages, unit: 'a' }), 'invalid_argument')
      const work = messageTo('nowhere', 'a')
      await rejects(flowsOf(scene).resume({ ...pages, unit: 'a', work }), 'queue_not_found')
      assert.deepEqual(await unitStates(scene), { a: 'dead' })
    })

    suite.test('repeats the steps of a chain from one on', async (scene) => {
      await createFlowQueues(scene)
      const [first = assert.fail()] = unitsOf('1')
      const steps = [first, { id: '2' }, { id: '3' }]
      await openFlow(scene, steps, { onUnitFailure: 'fail', keepsWork: true, inOrder: true })
      const next = (unit: string) => [{ ...pages, unit, work: messageTo('work', unit) }]
      await settleNext(scene, { kind: 'acknowledge' }, { starts: next('2') })
      await settleNext(scene, { kind: 'acknowledge' }, { starts: next('3') })
      await settleNext(scene, unreadable)
      assert.deepEqual((await readFlow(scene)).failure, { unit: '3', reason: 'unreadable' })
      const again = await flowsOf(scene).resume({ ...pages, unit: '2' })
      assert.deepEqual(
        [again.status, again.units],
        ['open', { total: 3, done: 1, dead: 0, pending: 2 }],
      )
      assert.deepEqual(await scene.peekBodies('work', 'ready'), ['2'])
      await settleNext(scene, { kind: 'acknowledge' }, { starts: next('3') })
      await settleNext(scene, { kind: 'acknowledge' }, { queue: 'work-dead' })
      assert.equal((await readFlow(scene)).status, 'open')
      await settleNext(scene)
      assert.deepEqual(await endMessages(scene), ['book is done', 'book has failed'])
    })

    suite.test(
      'remembers what a step would have been started with in a chain that failed',
      async (scene) => {
        await createFlowQueues(scene)
        const steps = [...unitsOf('1'), { id: '2' }]
        await openFlow(scene, steps, { onUnitFailure: 'fail', keepsWork: true })
        await settleNext(scene, unreadable)
        const starts = [{ ...pages, unit: '2', work: messageTo('work', '2') }]
        await settleNext(scene, { kind: 'acknowledge' }, { queue: 'work-dead', starts })
        assert.deepEqual(
          [await unitStates(scene), await endMessages(scene)],
          [{ 1: 'done', 2: 'pending' }, ['book has failed']],
        )
        await flowsOf(scene).resume({ ...pages, unit: '2' })
        await settleNext(scene)
        assert.deepEqual(await endMessages(scene), ['book is done', 'book has failed'])
      },
    )
  })

  suite.describe('the message of an end', () => {
    suite.test('is sent later when its queue is not there, and only once', async (scene) => {
      await createFlowQueues(scene)
      await openFlow(scene, unitsOf('a'))
      await scene.backend.deleteQueue({ queue: 'ends' })
      await settleNext(scene)
      const owing = await readFlow(scene)
      assert.deepEqual([owing.status, owing.failure?.unit], ['finalized', null])
      await scene.advance(minute)
      await scene.sweep()
      await scene.queue('ends')
      for (let time = 0; time < 3; time += 1) {
        await scene.advance(minute)
        await scene.sweep()
      }
      assert.deepEqual(await scene.peekBodies('ends', 'ready'), ['book is done'])
      assert.equal((await readFlow(scene)).failure, null)
    })

    suite
      .needing('reopen')
      .test('is sent once, whichever process opens the store again', async (scene) => {
        await createFlowQueues(scene)
        await openFlow(scene, unitsOf('a', 'b'))
        await settleNext(scene)
        await scene.reopen()
        await settleNext(scene)
        await scene.reopen()
        await scene.sweep()
        assert.deepEqual(await endMessages(scene), ['book is done'])
        assert.deepEqual(
          (await readUnits(scene)).map(({ state }) => state),
          ['done', 'done'],
        )
      })
  })
}
