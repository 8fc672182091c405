import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { defineApp } from '../../src/contracts/define-app.ts'
import { queue } from '../../src/contracts/queue-declaration.ts'
import { type MissedTicks, schedule } from '../../src/contracts/schedule-declaration.ts'
import type { VirtualClock } from '../../src/testing/virtual-clock.ts'
import { openScene } from '../support/worker-scene.ts'

const minute = 60_000
const hour = 60 * minute
const by = { by: 'anna' }

/** Most of the time passes for the clock on the wall alone: nobody has to look every second. */
async function pass({ clock }: { readonly clock: VirtualClock }, ms: number): Promise<void> {
  clock.sleep(ms - 2_000)
  await clock.advance(2_000)
}

const app = defineApp('reports', {
  queues: { reports: queue() },
  schedules: { hourly: schedule({ cron: '0 * * * *', send: { queue: 'reports' } }) },
})

describe('the handle of a schedule', () => {
  test('tells the next ticks', async () => {
    const { mill } = await openScene(app)
    const next = await mill.schedules.hourly.next(3)
    assert.deepEqual(
      next.map((date) => date.toISOString()),
      ['2026-01-01T01:00:00.000Z', '2026-01-01T02:00:00.000Z', '2026-01-01T03:00:00.000Z'],
    )
    for (const count of [0, 1_001, 1.5]) {
      await assert.rejects(mill.schedules.hourly.next(count), { code: 'invalid_argument' })
    }
  })

  test('pauses, and goes on with the next tick from then on', async () => {
    const scene = await openScene(app)
    const { mill, messages } = scene
    await pass(scene, hour)
    const paused = await mill.schedules.hourly.pause(by)
    assert.deepEqual([paused.pausedBy, paused.nextAt, paused.ticks], ['anna', null, 1])
    assert.deepEqual(await mill.schedules.hourly.next(5), [])
    await pass(scene, 5 * hour + minute)
    assert.equal((await mill.queues.reports.statistics()).ready, 1)
    const resumed = await mill.schedules.hourly.resume({ by: 'ben' })
    assert.equal(resumed.nextAt?.toISOString(), '2026-01-01T07:00:00.000Z')
    assert.deepEqual([resumed.pausedAt, resumed.resumedBy], [null, 'ben'])
    await pass(scene, hour)
    const { ticks, skipped } = await mill.schedules.hourly.read()
    assert.deepEqual([ticks, skipped], [2, 0])
    assert.ok(messages().includes('schedule paused') && messages().includes('schedule resumed'))
  })

  test('repeats no tick when the wall clock was set back before it is resumed', async () => {
    const scene = await openScene(app)
    const { mill, clock } = scene
    await pass(scene, hour + 1_000)
    await mill.schedules.hourly.pause(by)
    clock.jumpWall(-30 * minute)
    const { nextAt } = await mill.schedules.hourly.resume(by)
    assert.equal(nextAt?.toISOString(), '2026-01-01T02:00:00.000Z')
    await clock.advance(2_000)
    assert.equal((await mill.schedules.hourly.read()).ticks, 1)
  })

  test('runs now, also while it is paused, and changes nothing about what is next', async () => {
    const { mill, clock } = await openScene(app)
    const before = await mill.schedules.hourly.next()
    const id = await mill.schedules.hourly.runNow(by)
    assert.deepEqual(await mill.schedules.hourly.next(), before)
    await mill.schedules.hourly.pause(by)
    await mill.schedules.hourly.runNow({ by: 'ben' })
    const { items } = await mill.queues.reports.peek()
    assert.equal(items.length, 2)
    assert.equal(items[0]?.id, id)
    assert.equal(items[0]?.body, JSON.stringify({ at: new Date(clock.now()).toISOString() }))
    const { ticks, ranBy, ranAt } = await mill.schedules.hourly.read()
    assert.deepEqual([ticks, ranBy, ranAt?.getTime()], [0, 'ben', clock.now()])
  })
})

describe('an app that nobody had open for five hours', () => {
  const opened = async (missed: MissedTicks | undefined) => {
    const target = { send: { queue: 'reports' } } as const
    const options = { cron: '0 * * * *', ...target, ...(missed && { missed }) }
    const catching = defineApp('reports', {
      queues: { reports: queue() },
      schedules: { hourly: schedule(options) },
    })
    const scene = await openScene(catching)
    // As good as closed: the machine sleeps.
    scene.clock.sleep(5 * hour + 30 * minute)
    await scene.clock.advance(2_000)
    const { items } = await scene.mill.queues.reports.peek({ limit: 100 })
    const hours = items.map(({ body }) => new Date(JSON.parse(body).at).getUTCHours())
    const { ticks, skipped, nextAt } = await scene.mill.schedules.hourly.read()
    return { hours, ticks, skipped, next: nextAt?.getUTCHours() }
  }

  test('makes up for the latest tick, unless told otherwise', async () => {
    const expected = { hours: [5], ticks: 1, skipped: 4, next: 6 }
    assert.deepEqual(await opened(undefined), expected)
    assert.deepEqual(await opened('once'), expected)
  })

  test('skips what was missed', async () => {
    assert.deepEqual(await opened('skip'), { hours: [], ticks: 0, skipped: 5, next: 6 })
  })

  test('makes up for all of it, in order', async () => {
    const expected = { hours: [1, 2, 3, 4, 5], ticks: 5, skipped: 0, next: 6 }
    assert.deepEqual(await opened('all'), expected)
  })

  test('makes up for a hundred ticks at most', async () => {
    const often = defineApp('reports', {
      queues: { reports: queue() },
      schedules: { often: schedule({ every: '1s', send: { queue: 'reports' }, missed: 'all' }) },
    })
    const { mill, clock } = await openScene(often)
    clock.sleep(hour)
    await clock.advance(1_999)
    for (let turn = 0; turn < 100; turn += 1) await clock.advance(0)
    const { ticks, skipped } = await mill.schedules.often.read()
    assert.deepEqual([ticks, skipped], [100, 100])
  })
})
