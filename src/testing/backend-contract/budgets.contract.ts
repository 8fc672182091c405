import assert from 'node:assert/strict'
import type {
  BudgetStore,
  DeclaredBudget,
  Spend,
  SpentBudget,
} from '../../backends/budget-store.ts'
import { everyPage, lift, switchesOf, turnOn } from './gate-scene.ts'
import { day, hour, rejects, type Scene } from './scene.ts'
import type { ContractSuite } from './suite.ts'

const scope = 'tutor/dev'

/** A budget of 10 tokens a day. */
export const llm: DeclaredBudget = {
  budget: 'llm',
  limit: 10,
  perMs: day,
  unit: 'tokens',
  trips: 'LLM_PAUSED',
  mode: 'hold',
}

export function budgetsOf({ backend }: Scene): BudgetStore {
  assert.ok(backend.budgets !== null)
  return backend.budgets
}

/** Declares `llm` with these changes, or these budgets. */
export async function declare(scene: Scene, ...changes: Partial<DeclaredBudget>[]): Promise<void> {
  const budgets = (changes.length === 0 ? [{}] : changes).map((one) => ({ ...llm, ...one }))
  await budgetsOf(scene).declare({ scope, budgets })
}

function spend(scene: Scene, amount: number, changes: Partial<Spend> = {}): Promise<SpentBudget> {
  return budgetsOf(scene).spend({ budget: 'llm', amount, ...changes })
}

export async function spentOf(scene: Scene, budget = 'llm'): Promise<number | undefined> {
  return (await budgetsOf(scene).read({ budget }))?.spent
}

async function isPaused(scene: Scene): Promise<boolean> {
  return (await switchesOf(scene).list()).some(({ value }) => value === llm.trips)
}

export function describeBudgets(all: ContractSuite): void {
  const suite = all.needing('killSwitches')
  suite.describe('budgets', () => {
    describeDeclaring(suite)
    describeSpending(suite)
    describeTripping(suite)
    describeResetting(suite)
  })
}

function describeDeclaring(suite: ContractSuite): void {
  suite.test('a declared budget can be read and listed', async (scene) => {
    await declare(scene, {}, { budget: 'mails', unit: null, perMs: null, mode: 'divert' })
    const { windowEndsAt, ...record } = (await budgetsOf(scene).read({ budget: 'llm' })) ?? {}
    assert.deepEqual(record, { ...llm, scope, spent: 0, tripped: false })
    assert.equal(Number(windowEndsAt) % day, 0)
    const all = await budgetsOf(scene).list()
    assert.deepEqual(
      all.map(({ budget, unit, mode }) => [budget, unit, mode]),
      [
        ['llm', 'tokens', 'hold'],
        ['mails', null, 'divert'],
      ],
    )
    assert.equal(await budgetsOf(scene).read({ budget: 'lmm' }), undefined)
  })

  suite.test('the latest declaration counts, and spending is kept', async (scene) => {
    await declare(scene)
    await spend(scene, 8)
    await declare(scene, { limit: 9, unit: 'cents' })
    const record = await budgetsOf(scene).read({ budget: 'llm' })
    assert.deepEqual([record?.limit, record?.unit, record?.spent], [9, 'cents', 8])
    assert.equal((await spend(scene, 1)).turnedOn, true)
  })

  suite.test('an app removes its own budgets only, and what was spent stays', async (scene) => {
    await declare(scene, {}, { budget: 'mails' })
    await spend(scene, 3)
    await budgetsOf(scene).declare({ scope: 'other/dev', budgets: [{ ...llm, budget: 'pages' }] })
    await declare(scene, { budget: 'mails' })
    const names = async (): Promise<unknown> =>
      (await budgetsOf(scene).list()).map(({ budget }) => budget)
    assert.deepEqual(await names(), ['mails', 'pages'])
    await rejects(spend(scene, 1), 'budget_not_found')
    await declare(scene)
    assert.deepEqual(await names(), ['llm', 'pages'])
    assert.equal(await spentOf(scene), 3)
  })

  suite.test('declarations that cannot be are refused', async (scene) => {
    const changes: readonly Partial<DeclaredBudget>[] = [
      { budget: '' },
      { limit: Number.NaN },
      { limit: -1 },
      { limit: 1e16 },
      { perMs: 0 },
      { unit: '' },
      { unit: 'x'.repeat(33) },
      { trips: '' },
      { mode: 'stop' as 'hold' },
    ]
    for (const one of changes) await rejects(declare(scene, one), 'invalid_argument')
    assert.deepEqual(await budgetsOf(scene).list(), [])
  })
}

function describeSpending(suite: ContractSuite): void {
  suite.test('what is spent adds up, and nothing happens below the limit', async (scene) => {
    await declare(scene)
    await spend(scene, 4)
    const { turnedOn, ...state } = await spend(scene, 5.5)
    assert.deepEqual([state.spent, state.tripped, turnedOn], [9.5, false, false])
    assert.deepEqual(await budgetsOf(scene).read({ budget: 'llm' }), state)
    assert.equal(await isPaused(scene), false)
  })

  suite.test('a new window begins at nothing', async (scene) => {
    await declare(scene)
    const { windowEndsAt } = await spend(scene, 9)
    await scene.advance(day)
    const later = await spend(scene, 2)
    assert.deepEqual([later.spent, later.tripped], [2, false])
    assert.equal(later.windowEndsAt, Number(windowEndsAt) + day)
  })

  suite.test('budgets do not know of each other', async (scene) => {
    await declare(scene, {}, { budget: 'storage' })
    await spend(scene, 9)
    const other = await spend(scene, 2, { budget: 'storage' })
    assert.deepEqual([other.spent, other.tripped], [2, false])
  })

  suite.test('amounts that cannot be and unknown budgets are refused', async (scene) => {
    await declare(scene)
    for (const amount of [-1, Number.NaN, Number.POSITIVE_INFINITY, 1e16, '1' as never]) {
      await rejects(spend(scene, amount), 'invalid_argument')
    }
    await rejects(spend(scene, 1, { budget: '' }), 'invalid_argument')
    await rejects(spend(scene, 1, { budget: 'lmm' }), 'budget_not_found')
    assert.equal(await spentOf(scene), 0)
  })

  suite.needing('reopen').test('what was spent outlives a restart', async (scene) => {
    await declare(scene)
    await spend(scene, 9)
    await scene.reopen()
    assert.equal((await spend(scene, 1)).turnedOn, true)
  })
}

function describeTripping(suite: ContractSuite): void {
  suite.test('reaching the limit turns the switch on, until the window ends', async (scene) => {
    await declare(scene)
    await scene.queue('q', { obeys: { queue: ['LLM_PAUSED'], types: {} } })
    await scene.send('q', 'a')
    assert.equal((await spend(scene, 9)).turnedOn, false)
    const { turnedOn, tripped, windowEndsAt } = await spend(scene, 1)
    assert.deepEqual([turnedOn, tripped], [true, true])
    const [record] = await switchesOf(scene).list()
    assert.deepEqual([record?.by, record?.until], ['budget llm', windowEndsAt])
    assert.deepEqual(await scene.receiveBodies('q'), [])
    const more = await spend(scene, 5)
    assert.deepEqual([more.turnedOn, more.tripped], [false, true], 'it is on already')
    await scene.advance(day)
    assert.equal((await budgetsOf(scene).read({ budget: 'llm' }))?.tripped, false)
    assert.equal(await isPaused(scene), false)
    assert.deepEqual(await scene.receiveBodies('q'), ['a'])
    const { items } = await switchesOf(scene).history({ limit: 10 })
    assert.equal(items.at(-1)?.by, 'budget llm')
  })

  suite.test('a switch that was lifted turns on again with the next spending', async (scene) => {
    await declare(scene)
    await spend(scene, 10)
    await lift(scene, 'name', 'LLM_PAUSED')
    assert.equal((await spend(scene, 0)).turnedOn, true)
  })

  suite.test('a switch that was turned on for longer stays as it is', async (scene) => {
    await declare(scene)
    await turnOn(scene, 'name', 'LLM_PAUSED', { mode: 'divert', by: 'ben' })
    assert.equal((await spend(scene, 20)).turnedOn, false)
    const [record] = await switchesOf(scene).list()
    assert.deepEqual([record?.by, record?.mode, record?.until], ['ben', 'divert', null])
  })

  suite.test('a switch that was turned on for a shorter time is prolonged', async (scene) => {
    await declare(scene)
    await turnOn(scene, 'name', 'LLM_PAUSED', { forMs: hour })
    const { turnedOn, windowEndsAt } = await spend(scene, 20)
    const [record] = await switchesOf(scene).list()
    assert.deepEqual([turnedOn, record?.until], [true, windowEndsAt])
  })

  suite.test('a budget without windows never ends', async (scene) => {
    await declare(scene, { perMs: null })
    const { windowEndsAt, turnedOn } = await spend(scene, 10)
    assert.deepEqual([windowEndsAt, turnedOn], [null, true])
    await scene.advance(40 * day)
    assert.equal(await isPaused(scene), true)
  })

  suite.test('fractions that make up the limit reach it', async (scene) => {
    await declare(scene)
    let turnedOn = false
    for (let part = 0; part < 100; part += 1) turnedOn = (await spend(scene, 0.1)).turnedOn
    assert.equal(turnedOn, true)
    assert.equal((await budgetsOf(scene).read({ budget: 'llm' }))?.tripped, true)
  })
}

function describeResetting(suite: ContractSuite): void {
  const reset = (scene: Scene, budget = 'llm'): Promise<unknown> =>
    budgetsOf(scene).reset({ budget, by: 'anna', note: 'paid' })

  suite.test('a reset starts at nothing and lifts the switch', async (scene) => {
    await declare(scene)
    await scene.queue('q', { obeys: { queue: ['LLM_PAUSED'], types: {} } })
    await scene.send('q', 'a')
    await spend(scene, 12)
    const record = await budgetsOf(scene).reset({ budget: 'llm', by: 'anna' })
    assert.deepEqual([record.spent, record.tripped], [0, false])
    assert.equal(await isPaused(scene), false)
    assert.deepEqual(await scene.receiveBodies('q'), ['a'])
    const [lifted] = (await switchesOf(scene).history({ limit: 1 })).items
    assert.deepEqual(
      [lifted?.event, lifted?.by, lifted?.note],
      ['lifted', 'anna', 'budget llm was reset'],
    )
    assert.equal((await spend(scene, 9)).turnedOn, false)
    assert.equal((await spend(scene, 1)).turnedOn, true)
  })

  suite.test('a reset is recorded, with what had been spent', async (scene) => {
    await declare(scene)
    await spend(scene, 4)
    await reset(scene)
    await spend(scene, 2)
    await scene.advance(hour)
    await budgetsOf(scene).reset({ budget: 'llm', by: 'ben' })
    const resets = await everyPage((after) =>
      budgetsOf(scene).resets({ budget: 'llm', limit: 1, ...after }),
    )
    const [latest, first] = resets
    assert.deepEqual(
      resets.map(({ budget, by, note, spent }) => [budget, by, note, spent]),
      [
        ['llm', 'ben', null, 2],
        ['llm', 'anna', 'paid', 4],
      ],
    )
    assert.equal(latest?.at, Number(first?.at) + hour)
  })

  suite.test('a switch that a person turned on stays on', async (scene) => {
    await declare(scene)
    await turnOn(scene, 'name', 'LLM_PAUSED')
    await spend(scene, 12)
    await reset(scene)
    assert.equal(await isPaused(scene), true)
  })

  suite.test('a switch stays on for another budget that is spent', async (scene) => {
    await declare(scene, {}, { budget: 'cents', perMs: hour })
    await spend(scene, 10)
    await spend(scene, 10, { budget: 'cents' })
    await reset(scene)
    const [record] = await switchesOf(scene).list()
    assert.equal(record?.by, 'budget cents')
    await reset(scene, 'cents')
    assert.equal(await isPaused(scene), false)
  })

  suite.test('an unknown budget or a missing name is refused', async (scene) => {
    await declare(scene)
    await spend(scene, 4)
    await rejects(budgetsOf(scene).reset({ budget: 'llm', by: '' }), 'invalid_argument')
    await rejects(reset(scene, 'lmm'), 'budget_not_found')
    await rejects(budgetsOf(scene).resets({ budget: 'lmm', limit: 1 }), 'budget_not_found')
    assert.equal(await spentOf(scene), 4)
  })
}
