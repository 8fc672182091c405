/** What is spent on a job and on a flow: added up over attempts and units, and removed with them. */
import assert from 'node:assert/strict'
import type { NewUnit } from '../../backends/flow-store.ts'
import type { NewJob } from '../../backends/job-store.ts'
import { budgetsOf, declare, spentOf } from './budgets.contract.ts'
import {
  acknowledge,
  createFlowQueues,
  flowsOf,
  openFlow,
  pages,
  readFlow,
  settleWith,
} from './flow-scene.ts'
import { switchesOf } from './gate-scene.ts'
import { enqueue, jobsOf, readJob } from './job-scene.ts'
import { day, type Scene, second } from './scene.ts'
import type { ContractSuite } from './suite.ts'

export function describeSpendings(all: ContractSuite): void {
  const suite = all.needing('killSwitches').needing('trackedJobs')
  suite.describe('the cost of a job', () => describeJobs(suite))
  suite.describe('spending with a report', () => describeReports(suite))
  suite.needing('flows').describe('the cost of a flow', () => describeFlows(suite.needing('flows')))
}

interface On {
  readonly queue?: string
  readonly budget?: string
}

async function spendOn(
  scene: Scene,
  receipt: string,
  amount: number,
  { queue = 'q', budget = 'llm' }: On = {},
): Promise<void> {
  await budgetsOf(scene).spend({ budget, amount, on: { queue, receipt } })
}

function describeJobs(suite: ContractSuite): void {
  suite.test('adds up over its attempts, by budget', async (scene) => {
    await declare(scene, { limit: 1_000 }, { budget: 'cents', limit: 1_000 })
    await scene.queue('q', { visibilityMs: 10 * second })
    const { id } = await enqueue(scene)
    assert.deepEqual((await readJob(scene, id)).spent, {})
    const first = await scene.receiveOne('q')
    await spendOn(scene, first.receipt, 4)
    await spendOn(scene, first.receipt, 0.5, { budget: 'cents' })
    await scene.settle('q', first.receipt, { kind: 'retry', delayMs: 0 })
    const next = await scene.receiveOne('q')
    await spendOn(scene, next.receipt, 3)
    assert.deepEqual((await readJob(scene, id)).spent, { cents: 0.5, llm: 7 })
    await scene.settle('q', next.receipt, { kind: 'deadLetter', reason: 'broken' })
    const { status, spent } = await readJob(scene, id)
    assert.deepEqual([status, spent], ['failed', { cents: 0.5, llm: 7 }])
    const [listed] = (await jobsOf(scene).list({ queue: 'q', limit: 1 })).items
    assert.deepEqual(listed?.spent, spent)
  })

  suite.test('counts what is spent after the lease has ended', async (scene) => {
    await declare(scene, { limit: 1_000 })
    await scene.queue('q', { visibilityMs: 10 * second })
    const { id } = await enqueue(scene)
    const { receipt } = await scene.receiveOne('q')
    await scene.advance(11 * second)
    await spendOn(scene, receipt, 1)
    const again = await scene.receiveOne('q')
    await spendOn(scene, receipt, 2)
    await scene.settle('q', again.receipt, acknowledge)
    await spendOn(scene, receipt, 4)
    assert.deepEqual((await readJob(scene, id)).spent, { llm: 7 })
    assert.equal(await spentOf(scene), 7)
  })

  suite.test('is not needed to count for the budget', async (scene) => {
    await declare(scene, { limit: 1_000 })
    await scene.queue('q')
    await scene.send('q', 'plain')
    const { receipt } = await scene.receiveOne('q')
    await spendOn(scene, receipt, 1)
    await spendOn(scene, 'r2-1-1-1-1.1', 2)
    await scene.backend.deleteQueue({ queue: 'q' })
    await spendOn(scene, receipt, 4)
    assert.equal(await spentOf(scene), 7)
  })

  suite.test('outlives a reset of the budget, and a retry begins at nothing', async (scene) => {
    await declare(scene, { limit: 1_000 })
    await scene.queue('q')
    const { id } = await enqueue(scene)
    const { receipt } = await scene.receiveOne('q')
    await spendOn(scene, receipt, 5)
    await budgetsOf(scene).reset({ budget: 'llm', by: 'anna' })
    await scene.settle('q', receipt, { kind: 'deadLetter', reason: 'broken' })
    assert.deepEqual((await readJob(scene, id)).spent, { llm: 5 })
    const again = await jobsOf(scene).retry({ id })
    assert.deepEqual((await readJob(scene, again.id)).spent, {})
  })
}

function describeReports(suite: ContractSuite): void {
  const spent = [{ budget: 'llm', amount: 3 }]

  suite.test('is in the commit of a settlement, however the attempt ends', async (scene) => {
    await declare(scene, { limit: 1_000 })
    await scene.queue('q')
    const { id } = await enqueue(scene, { maxAttempts: 3 })
    const outcomes = [{ kind: 'retry', delayMs: 0 }, { kind: 'release' }, acknowledge] as const
    for (const outcome of outcomes) {
      const { receipt } = await scene.receiveOne('q')
      const settled = await settleWith(scene, receipt, { queue: 'q', outcome, spent })
      assert.equal(settled.status, 'settled')
      const late = await settleWith(scene, receipt, { queue: 'q', outcome, spent })
      assert.notEqual(late.status, 'settled')
    }
    assert.deepEqual((await readJob(scene, id)).spent, { llm: 9 })
    assert.equal(await spentOf(scene), 9)
  })

  suite.test('is in the commit of progress', async (scene) => {
    await declare(scene, { limit: 1_000 })
    await scene.queue('q', { visibilityMs: 10 * second })
    const { id } = await enqueue(scene)
    const { receipt } = await scene.receiveOne('q')
    const report = { queue: 'q', receipt, progress: 0.5, spent }
    assert.deepEqual(await jobsOf(scene).reportProgress(report), { status: 'noted' })
    await scene.advance(11 * second)
    assert.deepEqual(await jobsOf(scene).reportProgress(report), { status: 'lapsed' })
    assert.deepEqual((await readJob(scene, id)).spent, { llm: 3 })
  })

  suite.test('turns the switch on', async (scene) => {
    await declare(scene, { limit: 3 })
    await scene.queue('q')
    await enqueue(scene)
    const { receipt } = await scene.receiveOne('q')
    await settleWith(scene, receipt, { queue: 'q', spent })
    assert.equal((await switchesOf(scene).list())[0]?.by, 'budget llm')
  })

  suite.test('is refused as a whole if any of it is wrong', async (scene) => {
    await declare(scene, { limit: 1_000 })
    await scene.queue('q')
    const { id } = await enqueue(scene)
    const { receipt } = await scene.receiveOne('q')
    const wrong = [
      ['budget_not_found', [...spent, { budget: 'lmm', amount: 1 }]],
      ['invalid_argument', [...spent, { budget: 'llm', amount: -1 }]],
      ['invalid_argument', [...spent, { budget: '', amount: 1 }]],
    ] as const
    for (const [code, amounts] of wrong) {
      const settled = await settleWith(scene, receipt, { queue: 'q', spent: amounts })
      assert.equal(settled.status === 'refused' && settled.error.code, code)
      const report = { queue: 'q', receipt, progress: 0.5, spent: amounts }
      const noted = await jobsOf(scene)
        .reportProgress(report)
        .catch((error) => ({ status: 'refused', error }) as const)
      assert.equal(noted.status === 'refused' && noted.error.code, code)
    }
    const { status, progress, spent: none } = await readJob(scene, id)
    assert.deepEqual([status, progress, none], ['processing', 0, {}])
    assert.equal(await spentOf(scene), 0)
  })
}

function describeFlows(suite: ContractSuite): void {
  const job: NewJob = { type: 'OCR', payload: '1', maxAttempts: 2 }
  const jobUnits = (...ids: readonly string[]): readonly NewUnit[] =>
    ids.map((id) => ({ id, work: { queue: 'work', job } }))
  const next = async (scene: Scene): Promise<string> => (await scene.receiveOne('work')).receipt

  suite.test('is the sum of its units, jobs or messages, failed or not', async (scene) => {
    await declare(scene, { limit: 1_000 })
    await createFlowQueues(scene)
    const plain = { id: 'plain', work: { queue: 'work', message: { body: 'x' } } }
    await openFlow(scene, [plain, ...jobUnits('a', 'b')])
    await openFlow(scene, jobUnits('a'), { id: 'other' })
    for (const amount of [1, 2, 4]) {
      const receipt = await next(scene)
      await spendOn(scene, receipt, amount, { queue: 'work' })
      const outcome = amount === 2 ? ({ kind: 'deadLetter', reason: 'no' } as const) : acknowledge
      await settleWith(scene, receipt, { outcome, spent: [{ budget: 'llm', amount: 10 }] })
    }
    assert.deepEqual((await readFlow(scene)).spent, { llm: 37 })
    assert.deepEqual((await readFlow(scene, 'other')).spent, {})
    const { items } = await flowsOf(scene).list({ prefix: pages.flow, limit: 10 })
    assert.deepEqual(
      items.map((flow) => flow.spent),
      [{}, { llm: 37 }],
    )
  })

  suite.test('includes the flow that takes over a unit', async (scene) => {
    await declare(scene, { limit: 1_000 })
    await createFlowQueues(scene)
    await openFlow(scene, jobUnits('a'))
    const parent = { ...pages, unit: 'a' }
    await openFlow(scene, jobUnits('x', 'y'), { id: 'child', parent })
    await spendOn(scene, await next(scene), 1, { queue: 'work' })
    await spendOn(scene, await next(scene), 2, { queue: 'work' })
    await spendOn(scene, await next(scene), 4, { queue: 'work' })
    assert.deepEqual((await readFlow(scene, 'child')).spent, { llm: 6 })
    assert.deepEqual((await readFlow(scene)).spent, { llm: 7 })
  })

  suite.test('goes with the flow', async (scene) => {
    await declare(scene, { limit: 1_000 })
    await createFlowQueues(scene)
    await openFlow(scene, jobUnits('a'), { keepMs: day })
    const receipt = await next(scene)
    await settleWith(scene, receipt, { spent: [{ budget: 'llm', amount: 3 }] })
    await scene.advance(2 * day)
    await scene.sweep()
    assert.equal((await openFlow(scene, jobUnits('a'))).status, 'created')
    assert.deepEqual((await readFlow(scene)).spent, {})
    // The job of the former flow is still kept.
    await spendOn(scene, receipt, 1, { queue: 'work' })
    assert.deepEqual((await readFlow(scene)).spent, {})
  })
}
