import assert from 'node:assert/strict'
import type { Outcome } from '../../backends/backend.ts'
import {
  createFlowQueues,
  endMessages,
  flowsOf,
  messageTo,
  openFlow,
  opening,
  pages,
  readFlow,
  settleNext,
  settleWith,
  unitStates,
  unitsOf,
} from './flow-scene.ts'
import { assertRefused, hour, minute, only, rejects, second } from './scene.ts'
import type { ContractSuite } from './suite.ts'

const unreadable: Outcome = { kind: 'deadLetter', reason: 'unreadable' }
const chapters = { ...pages, flow: 'app-dev-chapters' } as const
const parent = { ...pages, unit: 'a' } as const

export function describeFlowSettling(all: ContractSuite): void {
  const suite = all.needing('flows', 'peek')

  suite.describe('settling with flows', () => {
    suite.test('opens flows, marks and starts units in the same commit', async (scene) => {
      await createFlowQueues(scene)
      await openFlow(scene, [{ id: 'a' }, { id: 'b' }])
      await scene.send('work', 'split')
      const result = await settleNext(
        scene,
        { kind: 'acknowledge' },
        {
          emits: [{ queue: 'ends', message: { body: 'first' } }],
          flows: [opening(unitsOf('x'), { ...chapters, finalize: messageTo('ends', 'chapters') })],
          starts: [{ ...pages, unit: 'b', work: messageTo('work', 'b') }],
          marks: [
            { ...pages, marks: [{ unit: 'a', state: 'done' }] },
            { ...chapters, marks: [{ unit: 'x', state: 'done' }] },
          ],
        },
      )
      assert.equal(result.status, 'settled')
      assert.deepEqual(await unitStates(scene), { a: 'done', b: 'pending' })
      assert.deepEqual(await endMessages(scene), ['first', 'chapters'])
      assert.deepEqual(await scene.peekBodies('work', 'ready'), ['x', 'b'])
    })

    suite.test('changes nothing when a part of it is refused', async (scene) => {
      await createFlowQueues(scene)
      await openFlow(scene, unitsOf('a'))
      const { receipt } = await scene.receiveOne('work')
      const unknown = { ...pages, id: 'unknown' }
      const done = { state: 'done' as const }
      const good = { marks: [{ ...pages, marks: [{ unit: 'a', ...done }] }] }
      const refused = [
        [
          { marks: [...good.marks, { ...unknown, marks: [{ unit: 'a', ...done }] }] },
          'flow_not_found',
        ],
        [{ marks: [{ ...pages, marks: [{ unit: 'z', ...done }] }] }, 'unit_not_found'],
        [
          { ...good, starts: [{ ...pages, unit: 'z', work: messageTo('work', 'z') }] },
          'unit_not_found',
        ],
        [
          {
            ...good,
            flows: [opening(unitsOf('x'), { ...chapters, finalize: messageTo('nowhere', 'x') })],
          },
          'queue_not_found',
        ],
        [
          { ...good, flows: [opening([], { ...chapters, parent: { ...pages, unit: 'z' } })] },
          'unit_not_found',
        ],
        [{ ...good, outcome: { kind: 'release' as const } }, 'invalid_argument'],
      ] as const
      for (const [parts, code] of refused) {
        assertRefused(await settleWith(scene, receipt, parts), code)
      }
      assert.deepEqual(await unitStates(scene), { a: 'pending' })
      assert.deepEqual(await endMessages(scene), [])
      assert.deepEqual(await scene.counts('work'), { ready: 0, leased: 1, delayed: 0 })
      assert.equal(await flowsOf(scene).read(chapters), undefined)
    })

    suite.test('looks as closely at units of a flow that it opens itself', async (scene) => {
      await createFlowQueues(scene)
      await openFlow(scene, [{ id: 'a' }])
      await scene.send('work', 'split')
      const { receipt } = await scene.receiveOne('work')
      const flows = [opening([{ id: 'x' }], { ...chapters })]
      const start = (unit: string, queue: string) => [
        { ...chapters, unit, work: messageTo(queue, unit) },
      ]
      const lost = await settleWith(scene, receipt, { flows, starts: start('x', 'nowhere') })
      assertRefused(lost, 'queue_not_found')
      const unknown = await settleWith(scene, receipt, { flows, starts: start('z', 'work') })
      assertRefused(unknown, 'flow_not_found', 'unit_not_found')
      // A flow that is there already has the units that it has, whatever is said of it now.
      const marks = [{ ...pages, marks: [{ unit: 'b', state: 'done' as const }] }]
      const again = [opening([{ id: 'b' }])]
      assertRefused(await settleWith(scene, receipt, { flows: again, marks }), 'unit_not_found')
      const settled = await settleWith(scene, receipt, { flows, starts: start('x', 'work') })
      assert.equal(settled.status, 'settled')
      assert.deepEqual(await scene.peekBodies('work', 'ready'), ['x'])
    })

    suite.test('changes nothing with a lease that has ended', async (scene) => {
      await createFlowQueues(scene)
      await openFlow(scene, [...unitsOf('a'), { id: 'b' }, { id: 'c' }])
      const stale = await scene.receiveOne('work', { visibilityMs: second })
      await scene.advance(minute)
      await scene.receiveOne('work')
      const result = await settleWith(scene, stale.receipt, {
        flows: [opening(unitsOf('x'), { ...chapters })],
        starts: [{ ...pages, unit: 'b', work: messageTo('work', 'b') }],
        marks: [{ ...pages, marks: [{ unit: 'c', state: 'done' }] }],
      })
      assert.deepEqual(result, { status: 'stale' })
      assert.deepEqual(await unitStates(scene), { a: 'pending', b: 'pending', c: 'pending' })
      assert.equal(await flowsOf(scene).read(chapters), undefined)
      assert.deepEqual(await scene.counts('work'), { ready: 0, leased: 1, delayed: 0 })
    })

    suite.test('starts a step once, however often its predecessor is delivered', async (scene) => {
      await createFlowQueues(scene)
      await openFlow(scene, [...unitsOf('1'), { id: '2' }])
      const starts = [{ ...pages, unit: '2', work: messageTo('work', '2') }]
      const first = await scene.receiveOne('work', { visibilityMs: second })
      await scene.advance(minute)
      const second_ = await scene.receiveOne('work')
      assert.equal((await settleWith(scene, first.receipt, { starts })).status, 'stale')
      assert.equal((await settleWith(scene, second_.receipt, { starts })).status, 'settled')
      await scene.send('work', 'again')
      await scene.receiveOne('work')
      await settleNext(scene, { kind: 'acknowledge' }, { starts })
      assert.deepEqual(await scene.counts('work'), { ready: 0, leased: 1, delayed: 0 })
    })
  })

  suite.describe('a child flow of a unit', () => {
    suite.test('makes it done when the message of its end was acknowledged', async (scene) => {
      await createFlowQueues(scene)
      await openFlow(scene, [{ id: 'a' }], { finalize: messageTo('ends', 'book') })
      const finalize = messageTo('work', 'bind')
      const { flow } = await openFlow(scene, unitsOf('x'), { ...chapters, parent, finalize })
      assert.deepEqual(flow.parent, parent)
      await settleNext(scene)
      assert.deepEqual(await unitStates(scene), { a: 'pending' })
      const bind = await scene.receiveOne('work')
      assert.deepEqual([bind.body, bind.unit], ['bind', parent])
      await settleWith(scene, bind.receipt)
      assert.deepEqual(await endMessages(scene), ['book'])
    })

    suite.test('makes it done at once when its end has no message', async (scene) => {
      await createFlowQueues(scene)
      const { finalize: _, ...silent } = opening([], { ...chapters, parent })
      await openFlow(scene, [{ id: 'a' }])
      await flowsOf(scene).open(silent)
      assert.deepEqual(await endMessages(scene), ['book is done'])
    })

    suite.test('gives it up when it fails or is cancelled', async (scene) => {
      await createFlowQueues(scene)
      await openFlow(scene, [{ id: 'a' }, { id: 'b' }])
      await openFlow(scene, unitsOf('x'), { ...chapters, parent, onUnitFailure: 'fail' })
      await settleNext(scene, unreadable)
      const second_ = { ...chapters, id: 'second' }
      await openFlow(scene, [{ id: 'y' }], { ...second_, parent: { ...pages, unit: 'b' } })
      await flowsOf(scene).cancel(second_)
      assert.deepEqual(await unitStates(scene), { a: 'dead', b: 'dead' })
      const reason = 'The child flow of the unit has failed. unreadable'
      assert.deepEqual((await readFlow(scene)).failure, { unit: 'a', reason })
    })

    suite.test('is not resumed when the flow above was cancelled', async (scene) => {
      await createFlowQueues(scene)
      await openFlow(scene, [{ id: 'a' }, { id: 'b' }])
      await openFlow(scene, unitsOf('x'), { ...chapters, parent, onUnitFailure: 'fail' })
      await settleNext(scene, unreadable)
      await flowsOf(scene).cancel(pages)
      await rejects(flowsOf(scene).resume({ ...chapters, unit: 'x' }), 'flow_finished')
    })

    suite.test('makes it pending again when it is resumed', async (scene) => {
      await createFlowQueues(scene)
      await openFlow(scene, [{ id: 'a' }])
      const { finalize: _, ...child } = opening(unitsOf('x'), { ...chapters, parent })
      await flowsOf(scene).open({ ...child, onUnitFailure: 'fail' })
      await settleNext(scene, unreadable)
      assert.deepEqual(await unitStates(scene), { a: 'dead' })
      await flowsOf(scene).resume({ ...chapters, unit: 'x', work: messageTo('work', 'x') })
      assert.deepEqual(await unitStates(scene), { a: 'pending' })
      await settleNext(scene)
      assert.deepEqual(await unitStates(scene), { a: 'done' })
      assert.deepEqual(await endMessages(scene), ['book is done', 'book has failed'])
    })

    suite.test('is cancelled with the other', async (scene) => {
      await createFlowQueues(scene)
      await openFlow(scene, [{ id: 'a' }])
      await openFlow(scene, [{ id: 'x' }], { ...chapters, parent })
      const grandchild = { ...chapters, flow: 'app-dev-lines' }
      await openFlow(scene, unitsOf('1'), { ...grandchild, parent: { ...chapters, unit: 'x' } })
      await flowsOf(scene).cancel(pages)
      await scene.sweep()
      for (const key of [pages, chapters, grandchild]) {
        assert.equal((await flowsOf(scene).read(key))?.status, 'cancelled')
      }
      assert.equal((await scene.counts('work')).ready, 0)
    })

    suite.test('is refused when the unit does not exist, or its flow has ended', async (scene) => {
      await createFlowQueues(scene)
      const child = (unit: object) =>
        openFlow(scene, [], { ...chapters, parent: { ...parent, ...unit } })
      await rejects(child({}), 'flow_not_found')
      await openFlow(scene, [{ id: 'a' }])
      await rejects(child({ unit: 'z' }), 'unit_not_found')
      await flowsOf(scene).cancel(pages)
      await rejects(child({}), 'flow_finished')
      assert.equal(await flowsOf(scene).read(chapters), undefined)
    })
  })

  suite.describe('a flow that takes over', () => {
    const taking = (changes = {}) => [
      { ...opening(unitsOf('x', 'y'), { ...chapters, ...changes }), takesOver: true },
    ]

    suite.test('takes over the unit of the delivery that opens it', async (scene) => {
      await createFlowQueues(scene)
      await openFlow(scene, unitsOf('a'), { finalize: messageTo('ends', 'book') })
      const flows = taking({ finalize: messageTo('work', 'bind') })
      assert.equal((await settleNext(scene, { kind: 'acknowledge' }, { flows })).status, 'settled')
      assert.deepEqual(await unitStates(scene), { a: 'pending' })
      await settleNext(scene)
      await settleNext(scene)
      assert.deepEqual(await unitStates(scene), { a: 'pending' })
      assert.equal((await scene.receiveOne('work', { visibilityMs: 0 })).body, 'bind')
      await settleNext(scene)
      assert.deepEqual(await endMessages(scene), ['book'])
    })

    suite.test('is one, and only for a message that works on a unit', async (scene) => {
      await createFlowQueues(scene)
      await scene.send('work', 'without an owner')
      const { receipt } = await scene.receiveOne('work')
      assertRefused(await settleWith(scene, receipt, { flows: taking() }), 'invalid_argument')
      const two = [...taking(), ...taking({ id: 'second' })]
      assertRefused(await settleWith(scene, receipt, { flows: two }), 'invalid_argument')
      assertRefused(
        await settleWith(scene, receipt, { flows: taking({ parent }) }),
        'invalid_argument',
      )
      assert.equal((await settleWith(scene, receipt)).status, 'settled')
    })

    suite.test('does not take over a flow that has another parent', async (scene) => {
      await createFlowQueues(scene)
      await openFlow(scene, unitsOf('a'))
      await openFlow(scene, [{ id: 'x' }], { ...chapters })
      const { receipt } = await scene.receiveOne('work')
      assertRefused(await settleWith(scene, receipt, { flows: taking() }), 'invalid_argument')
      assert.deepEqual(await unitStates(scene), { a: 'pending' })
    })

    suite.test(
      'is met again by a unit that is tried again, in whatever state it is',
      async (scene) => {
        await createFlowQueues(scene)
        await openFlow(scene, unitsOf('a'))
        await settleNext(scene, { kind: 'acknowledge' }, { flows: taking() })
        await flowsOf(scene).cancel(chapters)
        await scene.sweep()
        assert.deepEqual(await unitStates(scene), { a: 'dead' })
        await flowsOf(scene).resume({ ...pages, unit: 'a', work: messageTo('work', 'a') })
        await settleNext(scene, { kind: 'acknowledge' }, { flows: taking() })
        assert.deepEqual(await unitStates(scene), { a: 'dead' })
      },
    )

    suite.test(
      'takes over a step that was taken back only when the step allows it again',
      async (scene) => {
        await createFlowQueues(scene)
        const steps = [...unitsOf('a'), { id: 'b' }, { id: 'c' }]
        await openFlow(scene, steps, { inOrder: true, keepsWork: true })
        const step = (unit: string, follows: string) => ({
          starts: [{ ...pages, unit, follows, work: messageTo('work', unit) }],
        })
        const flows = taking({ finalize: messageTo('ends', 'bind') })
        const acknowledge = { kind: 'acknowledge' } as const
        await settleNext(scene, acknowledge, step('b', 'a'))
        await settleNext(scene, acknowledge, { flows })
        await flowsOf(scene).resume({ ...pages, unit: 'a' })
        await settleNext(scene)
        await settleNext(scene)
        await settleNext(scene, acknowledge, { queue: 'ends', ...step('c', 'b') })
        assert.deepEqual(await unitStates(scene), { a: 'pending', b: 'pending', c: 'pending' })
        await settleNext(scene, acknowledge, step('b', 'a'))
        assert.deepEqual(await scene.peekBodies('work', 'ready'), ['b'])
        await settleNext(scene, acknowledge, { flows })
        assert.deepEqual(await unitStates(scene), { a: 'done', b: 'pending', c: 'pending' })
        await settleNext(scene, acknowledge, { queue: 'ends', ...step('c', 'b') })
        assert.deepEqual(await unitStates(scene), { a: 'done', b: 'done', c: 'pending' })
        await settleNext(scene)
        assert.deepEqual(await endMessages(scene), ['book is done'])
      },
    )

    suite.test('is not opened for a flow that was cancelled meanwhile', async (scene) => {
      await createFlowQueues(scene)
      await openFlow(scene, unitsOf('a'))
      const { receipt } = await scene.receiveOne('work', { visibilityMs: hour })
      await flowsOf(scene).cancel(pages)
      await scene.sweep()
      const result = await settleWith(scene, receipt, { flows: taking() })
      assert.equal(result.status, 'settled')
      assert.equal(await flowsOf(scene).read(chapters), undefined)
      assert.deepEqual(await unitStates(scene), { a: 'dead' })
      assert.deepEqual(only([await scene.counts('work')]).ready, 0)
    })
  })
}
