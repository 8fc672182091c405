/** Versions of an app side by side, as every deployment has them for a while. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import type { ScheduleRecord } from '../../src/backends/schedule-store.ts'
import { type App, defineApp } from '../../src/contracts/define-app.ts'
import { queue } from '../../src/contracts/queue-declaration.ts'
import { schedule } from '../../src/contracts/schedule-declaration.ts'
import { minute, oneStore } from './schedule-scene.ts'

type Every = '1m' | '3m' | '30d'

/** A version of the app, by its schedules; each sends to a queue of its own. */
function version(rules: { readonly old?: Every; readonly added?: Every }): App {
  const { old, added } = rules
  return defineApp('reports', {
    queues: { old: queue(), added: queue() },
    schedules: {
      ...(old !== undefined && { old: schedule({ every: old, send: { queue: 'old' } }) }),
      ...(added !== undefined && { added: schedule({ every: added, send: { queue: 'added' } }) }),
    },
  })
}

async function scene() {
  const { backend, clock, openApp } = await oneStore()
  const { schedules } = backend
  assert.ok(schedules !== null)
  return {
    schedules,
    clock,
    openApp,
    async read(key: string): Promise<ScheduleRecord | undefined> {
      return schedules.read({ schedule: `reports-dev-${key}` })
    },
  }
}

describe('a schedule that only the newer version of an app has', () => {
  test('ticks on when the older one is opened again beside it', async () => {
    const { clock, openApp, read } = await scene()
    await openApp(version({ old: '1m' }))
    await openApp(version({ old: '1m', added: '1m' }))
    await clock.advance(2 * minute)
    await openApp(version({ old: '1m' }))
    await clock.advance(10 * minute)
    assert.deepEqual([(await read('added'))?.ticks, (await read('old'))?.ticks], [12, 12])
  })

  test('stays paused', async () => {
    const { clock, openApp, read } = await scene()
    const mill = await openApp(version({ added: '1m' }))
    await mill.schedules['added']?.pause({ by: 'anna' })
    await openApp(version({ old: '1m' }))
    await clock.advance(20 * minute)
    assert.equal((await read('added'))?.pausedBy, 'anna')
  })

  test('is forgotten five minutes after the last process that has it was closed', async () => {
    const { clock, openApp, read } = await scene()
    await openApp(version({ old: '1m' }))
    const mill = await openApp(version({ old: '1m', added: '30d' }))
    await clock.advance(minute)
    await mill.close()
    await clock.advance(4 * minute)
    assert.notEqual(await read('added'), undefined)
    await clock.advance(3 * minute)
    assert.equal(await read('added'), undefined)
  })
})

describe('a schedule that is declared no more', () => {
  test('ticks while a process has it, and is forgotten later', async () => {
    const { clock, openApp, read } = await scene()
    const before = await openApp(version({ old: '1m' }))
    await openApp(version({}))
    await clock.advance(2 * minute)
    assert.equal((await read('old'))?.ticks, 2)
    await before.close()
    await clock.advance(8 * minute)
    assert.equal(await read('old'), undefined)
  })

  test('is forgotten at once where nobody has had it for five minutes', async () => {
    const { clock, openApp, schedules } = await scene()
    const before = await openApp(version({ old: '1m' }))
    await before.close()
    await clock.advance(6 * minute)
    await openApp(version({}))
    assert.deepEqual((await schedules.list({ limit: 10 })).items, [])
    await assert.rejects(before.schedules['old']?.read() ?? Promise.resolve(), {
      code: 'schedule_not_found',
    })
  })
})

describe('a schedule that versions have with different rules', () => {
  test('goes by the rule of the one that runs, when the other is closed', async () => {
    const { clock, openApp, read } = await scene()
    await openApp(version({ old: '1m' }))
    const older = await openApp(version({ old: '30d' }))
    await clock.advance(10 * minute)
    const held = await read('old')
    assert.deepEqual([held?.rule, held?.ticks], ['every 30d', 0])
    await older.close()
    await clock.advance(7 * minute)
    const taken = await read('old')
    assert.equal(taken?.rule, 'every 1m')
    await clock.advance(3 * minute)
    assert.ok(((await read('old'))?.ticks ?? 0) >= 3)
  })

  test('keeps its pause when it gets another rule', async () => {
    const { clock, openApp, read } = await scene()
    const mill = await openApp(version({ old: '1m' }))
    await mill.schedules['old']?.pause({ by: 'anna' })
    await openApp(version({ old: '3m' }))
    await clock.advance(10 * minute)
    const record = await read('old')
    assert.deepEqual([record?.rule, record?.pausedBy, record?.ticks], ['every 3m', 'anna', 0])
  })
})
