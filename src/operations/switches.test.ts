import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { openScene } from '../../test/support/worker-scene.ts'
import { defineApp } from '../contracts/define-app.ts'
import { queue } from '../contracts/queue-declaration.ts'
import { createSwitches, type SwitchOn } from './switches.ts'

const app = defineApp('app', {
  queues: { mail: queue({ obeys: 'MAIL_PAUSED' }) },
})
const by = { by: 'anna' }

describe('a kill switch', () => {
  test('on a queue is set by its key or by its name', async () => {
    const { mill } = await openScene(app)
    const { name } = mill.queues.mail
    assert.equal((await mill.switches.hold({ queue: 'mail' }, by)).value, name)
    assert.equal(await mill.switches.lift({ queue: name }, by), true)
    assert.equal(await mill.switches.lift({ queue: 'mail' }, by), false)
    await assert.rejects(mill.switches.hold({ queue: 'male' }, by), { code: 'queue_not_found' })
  })

  test.each<[unknown]>([
    [{}],
    [{ queue: 'mail', type: 'OCR' }],
    [{ que: 'mail' }],
    [{ tenant: 5 }],
    [{ name: undefined }],
  ])('means one thing: %j is refused', async (on) => {
    const { mill } = await openScene(app)
    await assert.rejects(mill.switches.hold(on as SwitchOn, by), {
      code: 'invalid_argument',
      message:
        'switch: got an invalid value, expected exactly one of queue, type, tier, tenant, name, with a string',
    })
  })

  test('is signed, and its times are durations', async () => {
    const { mill } = await openScene(app)
    const on = { name: 'MAIL_PAUSED' }
    await assert.rejects(mill.switches.hold(on, { by: '' }), /by: got ''/)
    await assert.rejects(mill.switches.lift(on, { by: '' }), /by: got ''/)
    await assert.rejects(mill.switches.hold(on, { ...by, for: 5 as never }), /for: got 5/)
    const { until, setAt } = await mill.switches.divert(on, { ...by, for: '1m' })
    assert.equal(until, setAt + 60_000)
    assert.deepEqual(
      (await mill.switches.list()).map(({ mode, source }) => [mode, source]),
      [['divert', 'store']],
    )
  })

  test('has a history in pages', async () => {
    const { mill } = await openScene(app)
    for (const name of ['a', 'b', 'c']) await mill.switches.hold({ name }, by)
    const first = await mill.switches.history({ limit: 2 })
    assert.ok(first.next)
    const second = await mill.switches.history({ limit: 2, after: first.next })
    assert.deepEqual(
      [...first.items, ...second.items].map(({ value }) => value),
      ['c', 'b', 'a'],
    )
  })

  test('is refused by a backend that has none', async () => {
    const nothing = { backend: { switches: null }, queues: [], heldNames: [] }
    const switches = createSwitches(nothing)
    const refusal = { code: 'unsupported' }
    await assert.rejects(switches.hold({ name: 'X' }, by), refusal)
    await assert.rejects(switches.lift({ name: 'X' }, by), refusal)
    await assert.rejects(switches.list(), refusal)
    await assert.rejects(switches.history(), refusal)
  })
})
