import assert from 'node:assert/strict'
import {
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
import { day, minute, rejects } from './scene.ts'
import type { ContractSuite } from './suite.ts'

export function describeFlows(all: ContractSuite): void {
  const suite = all.needing('flows', 'peek')

  suite.describe('flows', () => {
    suite.test('a flow is done when all of its units are, and says so once', async (scene) => {
      await createFlowQueues(scene)
      const { status, flow } = await openFlow(scene, unitsOf('a', 'b', 'c'))
      assert.equal(status, 'created')
      assert.deepEqual(flow.units, { total: 3, done: 0, dead: 0, pending: 3 })
      await settleNext(scene)
      await settleNext(scene)
      assert.equal((await readFlow(scene)).status, 'open')
      assert.deepEqual(await endMessages(scene), [])
      await scene.advance(minute)
      await settleNext(scene)
      const record = await readFlow(scene)
      assert.equal(record.status, 'finalized')
      assert.deepEqual(record.units, { total: 3, done: 3, dead: 0, pending: 0 })
      assert.equal((record.endedAt ?? 0) - record.openedAt, minute)
      assert.deepEqual(await endMessages(scene), ['book is done'])
    })

    suite.test('a flow without units is done when it is opened sealed', async (scene) => {
      await createFlowQueues(scene)
      const { flow } = await openFlow(scene, [])
      assert.deepEqual([flow.status, flow.units.total], ['finalized', 0])
      assert.deepEqual(await endMessages(scene), ['book is done'])
    })

    suite.test('one unit is enough for a flow', async (scene) => {
      await createFlowQueues(scene)
      await openFlow(scene, unitsOf('only'))
      await settleNext(scene)
      assert.deepEqual(await endMessages(scene), ['book is done'])
    })

    suite.test(
      'a thousand units are opened with one call, and none counts twice',
      async (scene) => {
        await createFlowQueues(scene)
        const ids = Array.from({ length: 1_000 }, (_, index) => `page ${index}`)
        await openFlow(scene, unitsOf(...ids))
        let left = ids.length
        while (left > 0) {
          const deliveries = await scene.receive('work', { max: 250 })
          left -= deliveries.length
          const settlements = deliveries.map(({ receipt }) => ({
            receipt,
            outcome: { kind: 'acknowledge' as const },
          }))
          await scene.backend.settle({ queue: 'work', settlements })
          const { status } = await readFlow(scene)
          assert.equal(status, left > 0 ? 'open' : 'finalized')
        }
        assert.deepEqual(await endMessages(scene), ['book is done'])
      },
    )

    suite.test('a delivery says which unit it works on', async (scene) => {
      await createFlowQueues(scene)
      await openFlow(scene, unitsOf('a'))
      await scene.send('work', 'without an owner')
      const deliveries = await receiveAll(scene)
      assert.deepEqual(deliveries.get('a')?.unit, { ...pages, unit: 'a' })
      assert.equal(deliveries.get('without an owner')?.unit, null)
    })

    suite.test(
      'units are added until the flow is sealed, and it does not end before',
      async (scene) => {
        await createFlowQueues(scene)
        await openFlow(scene, unitsOf('a'), { sealed: false })
        await settleNext(scene)
        assert.equal((await readFlow(scene)).status, 'open')
        const added = await flowsOf(scene).add({ ...pages, units: unitsOf('b', 'c') })
        assert.deepEqual([added.added, added.duplicates, added.flow.units.total], [2, 0, 3])
        await settleNext(scene)
        const { isSealed } = await flowsOf(scene).seal(pages)
        assert.ok(isSealed)
        assert.deepEqual(await endMessages(scene), [])
        await settleNext(scene)
        assert.deepEqual(await endMessages(scene), ['book is done'])
      },
    )

    suite.test('a flow whose units have ended is done when it is sealed', async (scene) => {
      await createFlowQueues(scene)
      await openFlow(scene, unitsOf('a'), { sealed: false })
      await settleNext(scene)
      assert.deepEqual(await endMessages(scene), [])
      assert.equal((await flowsOf(scene).seal(pages)).status, 'finalized')
      assert.equal((await flowsOf(scene).seal(pages)).status, 'finalized')
      assert.deepEqual(await endMessages(scene), ['book is done'])
    })

    suite.test('the last units may come with the seal', async (scene) => {
      await createFlowQueues(scene)
      await openFlow(scene, [], { sealed: false })
      const { flow } = await flowsOf(scene).add({ ...pages, units: unitsOf('a'), seal: true })
      assert.ok(flow.isSealed)
      await settleNext(scene)
      assert.deepEqual(await endMessages(scene), ['book is done'])
    })

    suite.test('what is opened or added again changes nothing', async (scene) => {
      await createFlowQueues(scene)
      await openFlow(scene, unitsOf('a', 'a', 'b'), { sealed: false })
      const again = await openFlow(scene, unitsOf('a', 'x'), {
        sealed: true,
        onUnitFailure: 'fail',
      })
      assert.deepEqual(
        [again.status, again.flow.units.total, again.flow.isSealed],
        ['duplicate', 2, false],
      )
      const added = await flowsOf(scene).add({ ...pages, units: unitsOf('b', 'c', 'c') })
      assert.deepEqual([added.added, added.duplicates], [1, 2])
      assert.deepEqual(await scene.peekBodies('work', 'ready'), ['a', 'b', 'c'])
    })

    suite.test(
      'a sealed flow takes no new units, and has nothing against known ones',
      async (scene) => {
        await createFlowQueues(scene)
        await openFlow(scene, unitsOf('a'))
        const { add } = flowsOf(scene)
        await rejects(add({ ...pages, units: unitsOf('a', 'b') }), 'flow_sealed')
        assert.equal((await add({ ...pages, units: unitsOf('a') })).duplicates, 1)
        await settleNext(scene)
        await rejects(add({ ...pages, units: unitsOf('b') }), 'flow_finished')
        assert.equal((await add({ ...pages, units: unitsOf('a'), seal: true })).duplicates, 1)
        assert.deepEqual(await scene.peekBodies('work', 'ready'), [])
      },
    )

    suite.test(
      'an unknown flow or unit is refused, and so is what a queue does not take',
      async (scene) => {
        await createFlowQueues(scene)
        await openFlow(scene, unitsOf('a'))
        const flows = flowsOf(scene)
        const elsewhere = { ...pages, id: 'another' }
        const done = [{ unit: 'b', state: 'done' as const }]
        await rejects(flows.add({ ...elsewhere, units: [] }), 'flow_not_found')
        await rejects(flows.seal(elsewhere), 'flow_not_found')
        await rejects(flows.cancel(elsewhere), 'flow_not_found')
        await rejects(flows.units({ ...elsewhere, limit: 1 }), 'flow_not_found')
        await rejects(flows.mark({ ...elsewhere, marks: done }), 'flow_not_found')
        await rejects(flows.mark({ ...pages, marks: done }), 'unit_not_found')
        await rejects(
          flows.start({ ...pages, unit: 'b', work: messageTo('work', 'b') }),
          'unit_not_found',
        )
        await rejects(flows.resume({ ...pages, unit: 'b' }), 'unit_not_found')
        assert.equal(await flows.read(elsewhere), undefined)
        const lost = [{ id: 'x', work: messageTo('nowhere', 'x') }]
        await rejects(
          openFlow(scene, [...unitsOf('y'), ...lost], { id: 'other' }),
          'queue_not_found',
        )
        await rejects(
          openFlow(scene, [], { id: 'other', finalize: messageTo('nowhere', 'x') }),
          'queue_not_found',
        )
        assert.equal(await flows.read({ ...pages, id: 'other' }), undefined)
        assert.deepEqual(await scene.peekBodies('work', 'ready'), ['a'])
      },
    )

    suite.test('arguments outside their limits are refused', async (scene) => {
      await createFlowQueues(scene)
      const flows = flowsOf(scene)
      const many = Array.from({ length: 1_001 }, (_, index) => ({ id: `${index}` }))
      const bad = [
        opening(many),
        opening([{ id: '' }]),
        opening([{ id: 'x'.repeat(257) }]),
        opening([{ id: 'nul \0' }]),
        opening([], { id: '' }),
        opening([], { keepMs: -1 }),
        opening([], { deadlineMs: 0.5 }),
        opening([], { data: 'x'.repeat(1_048_577) }),
      ]
      for (const request of bad) await rejects(flows.open(request), 'invalid_argument')
      await rejects(flows.mark({ ...pages, marks: [] }), 'invalid_argument')
      await rejects(flows.list({ prefix: '', limit: 0 }), 'invalid_argument')
      const { items } = await flows.list({ prefix: '', limit: 10 })
      assert.deepEqual(items, [])
    })

    suite.test('units are marked by hand, and what is marked stays so', async (scene) => {
      await createFlowQueues(scene)
      await openFlow(scene, [{ id: 'a' }, { id: 'b' }, { id: 'c' }])
      const { mark } = flowsOf(scene)
      const done = (unit: string) => ({ unit, state: 'done' as const })
      await mark({ ...pages, marks: [done('a'), done('a'), done('b')] })
      await mark({ ...pages, marks: [{ unit: 'a', state: 'dead', reason: 'too late' }] })
      assert.deepEqual(await unitStates(scene), { a: 'done', b: 'done', c: 'pending' })
      const given = await mark({ ...pages, marks: [{ unit: 'c', state: 'dead', reason: 'torn' }] })
      assert.deepEqual(given.units, { total: 3, done: 2, dead: 1, pending: 0 })
      assert.deepEqual(given.failure, { unit: 'c', reason: 'torn' })
      assert.equal((await mark({ ...pages, marks: [done('c')] })).status, 'finalized')
      assert.deepEqual(await endMessages(scene), ['book is done'])
    })

    suite.test('a unit without a message is started once', async (scene) => {
      await createFlowQueues(scene)
      await openFlow(scene, [{ id: 'a' }])
      const { start } = flowsOf(scene)
      for (let time = 0; time < 3; time += 1) {
        await start({ ...pages, unit: 'a', work: messageTo('work', 'a') })
      }
      assert.deepEqual(await scene.peekBodies('work', 'ready'), ['a'])
      await settleNext(scene)
      await start({ ...pages, unit: 'a', work: messageTo('work', 'a') })
      assert.deepEqual(await scene.peekBodies('work', 'ready'), [])
      assert.deepEqual(await endMessages(scene), ['book is done'])
    })

    suite.test('a unit that is marked by hand leaves its message alone', async (scene) => {
      await createFlowQueues(scene)
      await openFlow(scene, unitsOf('a', 'b'))
      await flowsOf(scene).mark({ ...pages, marks: [{ unit: 'a', state: 'done' }] })
      const { receipt, unit } = await scene.receiveOne('work')
      assert.equal(unit?.unit, 'a')
      await settleWith(scene, receipt, { outcome: { kind: 'deadLetter', reason: 'not needed' } })
      assert.deepEqual(await unitStates(scene), { a: 'done', b: 'pending' })
    })

    suite.test('units are listed in order, by state and in pages', async (scene) => {
      await createFlowQueues(scene)
      await openFlow(scene, unitsOf('c', 'a', 'b', 'd'))
      await settleNext(scene)
      const listed = await readUnits(scene)
      assert.deepEqual(
        listed.map(({ unit, state }) => `${unit} ${state}`),
        ['c done', 'a pending', 'b pending', 'd pending'],
      )
      const [{ id } = assert.fail()] = await scene.peek('work', 'ready')
      assert.deepEqual([listed[0]?.messageId, listed[1]?.messageId], [null, id])
      const page = { ...pages, state: 'pending' as const, limit: 2 }
      const first = await flowsOf(scene).units(page)
      const last = await flowsOf(scene).units({ ...page, after: first.next ?? '' })
      assert.deepEqual(
        [first.items, last.items].map((items) => items.map(({ unit }) => unit)),
        [['a', 'b'], ['d']],
      )
      assert.equal(last.next, undefined)
    })

    suite.test('flows are listed newest first, by name, status and in pages', async (scene) => {
      await createFlowQueues(scene)
      for (const id of ['1', '2', '3']) await openFlow(scene, unitsOf(id), { id })
      await openFlow(scene, [], { flow: 'app-prod-pages', id: '4' })
      await openFlow(scene, [], { flow: 'other', id: '5' })
      const ids = async (request: object): Promise<unknown> => {
        const page = await flowsOf(scene).list({ prefix: '', limit: 10, ...request })
        return page.items.map(({ id }) => id)
      }
      assert.deepEqual(await ids({}), ['5', '4', '3', '2', '1'])
      assert.deepEqual(await ids({ prefix: 'app-' }), ['4', '3', '2', '1'])
      assert.deepEqual(await ids({ prefix: 'app-', status: 'finalized' }), ['4'])
      assert.deepEqual(await ids({ prefix: 'app-d', status: 'failed' }), [])
      const first = await flowsOf(scene).list({ prefix: 'app-', limit: 3 })
      assert.deepEqual(await ids({ prefix: 'app-', after: first.next ?? '' }), ['1'])
      await rejects(ids({ after: 'elsewhere' }), 'invalid_argument')
    })

    suite.test('what a caller keeps with a flow is read with it', async (scene) => {
      await createFlowQueues(scene)
      await openFlow(scene, unitsOf('a'), { data: '{"title":"Été"}' })
      assert.equal((await readFlow(scene)).data, '{"title":"Été"}')
      await openFlow(scene, [], { id: 'bare' })
      assert.equal((await readFlow(scene, 'bare')).data, null)
    })

    suite.test('a flow is forgotten after its time, units and all', async (scene) => {
      await createFlowQueues(scene)
      await openFlow(scene, unitsOf('a', 'b'), { keepMs: day })
      await settleNext(scene)
      await scene.advance(2 * day)
      await scene.sweep()
      await settleNext(scene)
      await scene.advance(day - 1)
      await scene.sweep()
      assert.equal((await readFlow(scene)).status, 'finalized')
      await scene.advance(1)
      await scene.sweep()
      assert.equal(await flowsOf(scene).read(pages), undefined)
      assert.equal((await openFlow(scene, unitsOf('a'))).status, 'created')
    })
  })
}
