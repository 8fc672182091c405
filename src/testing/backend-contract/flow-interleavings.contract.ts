import assert from 'node:assert/strict'
import type { Outcome } from '../../backends/backend.ts'
import {
  acknowledge,
  createFlowQueues,
  endMessages,
  flowsOf,
  messageTo,
  openFlow,
  opening,
  pages,
  readFlow,
  readUnits,
  receiveAll,
  settleNext,
  settleWith,
  unitStates,
  unitsOf,
} from './flow-scene.ts'
import { turnOn } from './gate-scene.ts'
import { jobsOf } from './job-scene.ts'
import { day, hour, minute, second } from './scene.ts'
import type { ContractSuite } from './suite.ts'

const unreadable: Outcome = { kind: 'deadLetter', reason: 'unreadable' }

/** What happens when two changes of a flow arrive in an unexpected order. */
export function describeFlowInterleavings(all: ContractSuite): void {
  const suite = all.needing('flows', 'peek')

  suite.describe('a flow, whatever comes first,', () => {
    suite.test('ends once when its last two units end in one call', async (scene) => {
      await createFlowQueues(scene)
      await openFlow(scene, unitsOf('a', 'b'))
      await openFlow(scene, unitsOf('x'), { id: 'other' })
      const deliveries = await scene.receive('work')
      const settlements = deliveries.map(({ receipt }) => ({ receipt, outcome: acknowledge }))
      const results = await scene.backend.settle({ queue: 'work', settlements })
      assert.ok(results.every(({ status }) => status === 'settled'))
      assert.deepEqual(await endMessages(scene), ['book is done', 'other is done'])
    })

    suite.test('stays cancelled when a unit dies or is done after that', async (scene) => {
      await createFlowQueues(scene)
      await openFlow(scene, unitsOf('a', 'b'), { onUnitFailure: 'fail' })
      const held = await receiveAll(scene)
      await flowsOf(scene).cancel(pages)
      await settleWith(scene, held.get('a')?.receipt ?? '', { outcome: unreadable })
      await scene.sweep()
      await settleWith(scene, held.get('b')?.receipt ?? '')
      assert.deepEqual(await unitStates(scene), { a: 'dead', b: 'done' })
      await scene.backend.startMoveTask({ source: 'work-dead' })
      await scene.sweep()
      await settleNext(scene)
      const { status, units: counts } = await readFlow(scene)
      assert.deepEqual([status, counts.done, counts.dead], ['cancelled', 2, 0])
      assert.deepEqual(await endMessages(scene), [])
    })

    suite.test('is not ended again by a dead letter that is moved back later', async (scene) => {
      await createFlowQueues(scene)
      await openFlow(scene, unitsOf('a', 'b'), { onUnitFailure: 'finalize' })
      await settleNext(scene, unreadable)
      await settleNext(scene)
      assert.deepEqual(await endMessages(scene), ['book is done'])
      await scene.backend.startMoveTask({ source: 'work-dead' })
      await scene.sweep()
      assert.deepEqual(await unitStates(scene), { a: 'dead', b: 'done' })
      await settleNext(scene)
      assert.deepEqual(await unitStates(scene), { a: 'done', b: 'done' })
      assert.deepEqual(await endMessages(scene), ['book is done'])
    })

    suite.test('takes units once that are named twice in a call', async (scene) => {
      await createFlowQueues(scene)
      await openFlow(scene, unitsOf('a', 'a'), { sealed: false })
      const added = await flowsOf(scene).add({ ...pages, units: unitsOf('b', 'a', 'b') })
      assert.deepEqual([added.added, added.duplicates, added.flow.units.total], [1, 2, 2])
      assert.deepEqual(await scene.peekBodies('work', 'ready'), ['a', 'b'])
    })

    suite.test('is cancelled through three levels, with all that is not leased', async (scene) => {
      await createFlowQueues(scene)
      const storey = (id: string, above?: string) =>
        openFlow(scene, unitsOf(`${id}-1`, `${id}-2`), {
          id,
          ...(above !== undefined && { parent: { ...pages, id: above, unit: `${above}-1` } }),
        })
      await storey('top')
      await storey('middle', 'top')
      await storey('low', 'middle')
      await flowsOf(scene).cancel({ ...pages, id: 'top' })
      await scene.sweep()
      for (const id of ['top', 'middle', 'low']) {
        const { status, units: counts } = await readFlow(scene, id)
        assert.deepEqual([status, counts.dead], ['cancelled', 2])
      }
      assert.deepEqual(await scene.peekBodies('work', 'ready'), [])
      assert.deepEqual(await endMessages(scene), [])
    })

    suite.test('that is cancelled takes its messages back, however late it is', async (scene) => {
      await createFlowQueues(scene)
      await openFlow(scene, unitsOf('a', 'b'), { keepMs: minute })
      const { receipt } = await scene.receiveOne('work', { visibilityMs: hour })
      await flowsOf(scene).cancel(pages)
      // There was no sweep while the flow was kept.
      await scene.advance(2 * minute)
      await scene.sweep()
      assert.deepEqual(await scene.counts('work'), { ready: 0, leased: 1, delayed: 0 })
      await settleWith(scene, receipt, { outcome: { kind: 'retry', delayMs: 0 } })
      await scene.advance(minute)
      await scene.sweep()
      assert.deepEqual(await scene.counts('work'), { ready: 0, leased: 0, delayed: 0 })
      assert.equal(await flowsOf(scene).read(pages), undefined)
    })

    suite.test('is dead when the end message of its flow could never be sent', async (scene) => {
      await createFlowQueues(scene)
      await scene.queue('elsewhere')
      await openFlow(scene, [{ id: 'a' }], { onUnitFailure: 'fail' })
      await openFlow(scene, unitsOf('x'), {
        id: 'inner',
        parent: { ...pages, unit: 'a' },
        finalize: messageTo('elsewhere', 'inner is done'),
        keepMs: day,
      })
      await scene.backend.deleteQueue({ queue: 'elsewhere' })
      await settleNext(scene)
      await scene.advance(2 * day)
      await scene.sweep()
      assert.equal(await flowsOf(scene).read({ ...pages, id: 'inner' }), undefined)
      assert.deepEqual(await endMessages(scene), ['book has failed'])
    })

    suite.test('does not start a step for one that was released meanwhile', async (scene) => {
      await createFlowQueues(scene)
      const steps = [...unitsOf('1'), { id: '2' }, { id: '3' }]
      await openFlow(scene, steps, { onUnitFailure: 'fail', keepsWork: true, inOrder: true })
      const next = (follows: string, unit: string) => ({
        starts: [{ ...pages, unit, follows, work: messageTo('work', unit) }],
      })
      await settleNext(scene, acknowledge, next('1', '2'))
      const held = await scene.receiveOne('work')
      await flowsOf(scene).resume({ ...pages, unit: '1' })
      const late = await settleWith(scene, held.receipt, next('2', '3'))
      assert.equal(late.status, 'settled')
      assert.deepEqual(await scene.peekBodies('work', 'ready'), ['1'])
      await settleNext(scene, acknowledge, next('1', '2'))
      await settleNext(scene, acknowledge, next('2', '3'))
      assert.deepEqual(await endMessages(scene), [])
      await settleNext(scene)
      assert.deepEqual(await endMessages(scene), ['book is done'])
    })

    suite.test('is not opened again to wait for a step that nothing starts', async (scene) => {
      await createFlowQueues(scene)
      const steps = [...unitsOf('1'), { id: '2' }]
      await openFlow(scene, steps, { onUnitFailure: 'fail', keepsWork: true, inOrder: true })
      await settleNext(scene, unreadable)
      await settleNext(scene, acknowledge, { queue: 'work-dead' })
      assert.deepEqual(await unitStates(scene), { 1: 'done', 2: 'pending' })
      const resume = flowsOf(scene).resume({ ...pages, unit: '2' })
      await assert.rejects(resume, { code: 'invalid_argument' })
      assert.equal((await readFlow(scene)).status, 'failed')
    })

    suite.test(
      'takes over for a unit whose lease has lapsed, unless it was given on',
      async (scene) => {
        await createFlowQueues(scene)
        await openFlow(scene, unitsOf('a'))
        const flows = [{ ...opening(unitsOf('x'), { id: 'inner' }), takesOver: true }]
        const first = await scene.receiveOne('work', { visibilityMs: second })
        await scene.advance(minute)
        const next = await scene.receiveOne('work', { visibilityMs: second })
        assert.equal((await settleWith(scene, first.receipt, { flows })).status, 'stale')
        assert.equal(await flowsOf(scene).read({ ...pages, id: 'inner' }), undefined)
        await scene.advance(minute)
        assert.equal((await settleWith(scene, next.receipt, { flows })).status, 'settled')
        assert.deepEqual(await unitStates(scene), { a: 'pending' })
        await settleNext(scene)
        await settleNext(scene, acknowledge, { queue: 'ends' })
        assert.deepEqual(await unitStates(scene), { a: 'done' })
      },
    )
  })

  const switching = suite.needing('killSwitches')
  switching.test('a unit whose message a switch diverts fails', async (scene) => {
    await createFlowQueues(scene)
    const work = { queue: 'work', message: { body: 'a', group: 'x' } }
    await openFlow(scene, [{ id: 'a', work }])
    await turnOn(scene, 'tenant', 'x', { mode: 'divert' })
    assert.deepEqual(await scene.receive('work'), [])
    assert.deepEqual(await unitStates(scene), { a: 'dead' })
    assert.deepEqual(await scene.peekBodies('work-dead', 'ready'), ['a'])
  })

  const working = suite.needing('trackedJobs')
  working.test('a unit whose job is tried again twice is done by the later one', async (scene) => {
    await createFlowQueues(scene)
    const job = { type: 'OCR', payload: '1', maxAttempts: 1 }
    await openFlow(scene, [{ id: 'a', work: { queue: 'work', job } }])
    const { id } = await scene.receiveOne('work')
    await jobsOf(scene).cancel({ id })
    await jobsOf(scene).retry({ id })
    const later = await jobsOf(scene).retry({ id })
    assert.equal((await readUnits(scene))[0]?.messageId, later.id)
    await settleNext(scene)
    assert.deepEqual(await unitStates(scene), { a: 'pending' })
    await settleNext(scene)
    assert.deepEqual(await endMessages(scene), ['book is done'])
    await jobsOf(scene).retry({ id })
    await settleNext(scene)
    assert.deepEqual(await endMessages(scene), ['book is done'])
  })
}
