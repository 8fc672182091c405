import assert from 'node:assert/strict'
import type { BudgetState, Spend } from '../../backends/switch-store.ts'
import { lift, switchesOf, turnOn } from './gate-scene.ts'
import { day, hour, rejects, type Scene } from './scene.ts'
import type { ContractSuite } from './suite.ts'

const window = { budget: 'llm', perMs: day, limit: 10 } as const
const trips = { scope: 'name', value: 'LLM_PAUSED', mode: 'hold' } as const

function spend(scene: Scene, amount: number, changes: Partial<Spend> = {}): Promise<BudgetState> {
  return switchesOf(scene).spend({ ...window, trips, amount, ...changes })
}

async function isPaused(scene: Scene): Promise<boolean> {
  return (await switchesOf(scene).list()).some(({ value }) => value === trips.value)
}

export function describeBudgets(all: ContractSuite): void {
  const suite = all.needing('killSwitches')
  suite.describe('budgets', () => {
    describeSpending(suite)
    describeTripping(suite)
  })
}

function describeSpending(suite: ContractSuite): void {
  suite.test('what is spent adds up, and nothing happens below the limit', async (scene) => {
    await spend(scene, 4)
    const { windowEndsAt, ...state } = await spend(scene, 5.5)
    assert.deepEqual(state, { spent: 9.5, limit: 10, tripped: false })
    assert.equal(Number(windowEndsAt) % day, 0)
    assert.deepEqual(await switchesOf(scene).budget(window), { ...state, windowEndsAt })
    assert.equal(await isPaused(scene), false)
  })

  suite.test('a new window begins at nothing', async (scene) => {
    const { windowEndsAt } = await spend(scene, 9)
    await scene.advance(day)
    const later = await spend(scene, 2)
    assert.deepEqual([later.spent, later.tripped], [2, false])
    assert.equal(later.windowEndsAt, Number(windowEndsAt) + day)
  })

  suite.test('budgets do not know of each other', async (scene) => {
    await spend(scene, 9)
    const other = await spend(scene, 2, { budget: 'storage' })
    assert.deepEqual([other.spent, other.tripped], [2, false])
  })

  suite.test('amounts and windows that cannot be are refused', async (scene) => {
    for (const amount of [-1, Number.NaN, Number.POSITIVE_INFINITY]) {
      await rejects(spend(scene, amount), 'invalid_argument')
    }
    await rejects(spend(scene, 1, { budget: '' }), 'invalid_argument')
    await rejects(spend(scene, 1, { perMs: 0 }), 'invalid_argument')
    await rejects(spend(scene, 1, { limit: Number.NaN }), 'invalid_argument')
    await rejects(spend(scene, 1, { trips: { ...trips, value: '' } }), 'invalid_argument')
    assert.equal((await switchesOf(scene).budget(window)).spent, 0)
  })

  suite.needing('reopen').test('what was spent outlives a restart', async (scene) => {
    await spend(scene, 9)
    await scene.reopen()
    assert.equal((await spend(scene, 1)).tripped, true)
  })
}

function describeTripping(suite: ContractSuite): void {
  suite.test('reaching the limit turns the switch on, until the window ends', async (scene) => {
    await scene.queue('q', { obeys: { queue: ['LLM_PAUSED'], types: {} } })
    await scene.send('q', 'a')
    assert.equal((await spend(scene, 9)).tripped, false)
    const { tripped, windowEndsAt } = await spend(scene, 1)
    assert.equal(tripped, true)
    const [record] = await switchesOf(scene).list()
    assert.deepEqual([record?.by, record?.until], ['budget llm', windowEndsAt])
    assert.deepEqual(await scene.receiveBodies('q'), [])
    assert.equal((await spend(scene, 5)).tripped, false, 'it is on already')
    assert.equal((await switchesOf(scene).budget(window)).tripped, true)
    await scene.advance(day)
    assert.equal((await switchesOf(scene).budget(window)).tripped, false)
    assert.equal(await isPaused(scene), false)
    assert.deepEqual(await scene.receiveBodies('q'), ['a'])
    const { items } = await switchesOf(scene).history({ limit: 10 })
    assert.equal(items.at(-1)?.by, 'budget llm')
  })

  suite.test('a switch that was lifted turns on again with the next spending', async (scene) => {
    await spend(scene, 10)
    await lift(scene, 'name', 'LLM_PAUSED')
    assert.equal((await spend(scene, 0)).tripped, true)
  })

  suite.test('a switch that was turned on for longer stays as it is', async (scene) => {
    await turnOn(scene, 'name', 'LLM_PAUSED', { mode: 'divert', by: 'ben' })
    assert.equal((await spend(scene, 20)).tripped, false)
    const [record] = await switchesOf(scene).list()
    assert.deepEqual([record?.by, record?.mode, record?.until], ['ben', 'divert', null])
  })

  suite.test('a switch that was turned on for a shorter time is prolonged', async (scene) => {
    await turnOn(scene, 'name', 'LLM_PAUSED', { forMs: hour })
    const { tripped, windowEndsAt } = await spend(scene, 20)
    const [record] = await switchesOf(scene).list()
    assert.deepEqual([tripped, record?.until], [true, windowEndsAt])
  })

  suite.test('a budget without windows never ends', async (scene) => {
    const { windowEndsAt, tripped } = await spend(scene, 10, { perMs: null })
    assert.deepEqual([windowEndsAt, tripped], [null, true])
    await scene.advance(40 * day)
    assert.equal(await isPaused(scene), true)
  })

  suite.test('fractions that make up the limit reach it', async (scene) => {
    let tripped = false
    for (let part = 0; part < 100; part += 1) tripped = (await spend(scene, 0.1)).tripped
    assert.equal(tripped, true)
    assert.equal((await switchesOf(scene).budget(window)).tripped, true)
  })
}
