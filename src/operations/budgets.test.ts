import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { openScene } from '../../test/support/worker-scene.ts'
import { defineApp } from '../contracts/define-app.ts'
import { queue } from '../contracts/queue-declaration.ts'
import { open } from '../index.ts'
import { createBudgets } from './budgets.ts'

const app = defineApp('app', {
  queues: { mail: queue({ obeys: 'MAIL_PAUSED' }) },
  budgets: { mails: { limit: 10, unit: 'mails', per: '1h', trips: 'MAIL_PAUSED' } },
})
const by = { by: 'anna' }

describe('a budget', () => {
  test('adds up what was spent, and shows when it starts again', async () => {
    const { mill, clock } = await openScene(app)
    assert.equal((await mill.budgets.read('mails')).spent, 0)
    const first = await mill.budgets.spend('mails', 4)
    assert.deepEqual([first.spent, first.limit, first.unit, first.tripped], [4, 10, 'mails', false])
    assert.equal(first.windowEndsAt, clock.now() + 3_600_000)
    assert.equal((await mill.budgets.spend('mails', 6)).turnedOn, true)
    // The switch is on already.
    const more = await mill.budgets.spend('mails', 1)
    assert.deepEqual([more.turnedOn, more.tripped], [false, true])
    assert.equal((await mill.budgets.read('mails')).spent, 11)
  })

  test('can be reset, which lifts its switch and is recorded', async () => {
    const { mill, clock } = await openScene(app)
    await mill.budgets.spend('mails', 12)
    assert.equal((await mill.switches.list()).length, 1)
    const { spent, tripped } = await mill.budgets.reset('mails', { ...by, note: 'paid' })
    assert.deepEqual([spent, tripped], [0, false])
    assert.deepEqual(await mill.switches.list(), [])
    const { items } = await mill.budgets.history('mails')
    const at = clock.now()
    assert.deepEqual(items, [{ budget: 'mails', by: 'anna', note: 'paid', at, spent: 12 }])
    await assert.rejects(mill.budgets.reset('mails', { by: '' }), /by: got ''/)
    const wrong = { who: 'anna' } as never
    await assert.rejects(mill.budgets.reset('mails', wrong), /who: got an unknown option/)
  })

  test('is one of the app', async () => {
    const { mill } = await openScene(app)
    const message = "No app declares the budget 'mail'; did you mean 'mails'?"
    await assert.rejects(mill.budgets.spend('mail', 1), { code: 'budget_not_found', message })
    await assert.rejects(mill.budgets.read('toString'), { code: 'budget_not_found' })
    await assert.rejects(mill.budgets.reset('mail', by), { code: 'budget_not_found' })
    await assert.rejects(mill.budgets.history('mail'), { code: 'budget_not_found' })
  })

  test('is known to the store without the app', async () => {
    const { backend, mill } = await openScene(app)
    await mill.budgets.spend('mails', 4)
    const bare = createBudgets({ backend })
    const [known] = await bare.list()
    assert.deepEqual(
      [known?.budget, known?.scope, known?.spent, known?.unit],
      ['mails', 'app/dev', 4, 'mails'],
    )
    assert.equal((await bare.spend('mails', 1)).spent, 5)
    await assert.rejects(bare.read('mail'), /did you mean 'mails'\?/)
  })

  test('of an older version can be spent from while a newer one does without it', async () => {
    const { backend, mill, ports } = await openScene(app)
    await mill.budgets.spend('mails', 4)
    const without = defineApp('app', { queues: app.queues })
    const newer = await open(without, { backend, ports })
    assert.deepEqual(await createBudgets({ backend }).list(), [])
    assert.deepEqual(await newer.budgets.list(), [])
    assert.equal((await mill.budgets.spend('mails', 1)).spent, 5)
    await newer.close()
  })

  test('is refused by a backend that has none', async () => {
    const none = createBudgets({ backend: { budgets: null } })
    await assert.rejects(none.spend('mails', 1), { code: 'unsupported' })
    await assert.rejects(none.list(), { code: 'unsupported' })
  })
})
