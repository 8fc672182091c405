import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { z } from 'zod'
import { type App, defineApp } from '../../src/contracts/define-app.ts'
import { jobs } from '../../src/contracts/jobs-declaration.ts'
import { fifo, queue } from '../../src/contracts/queue-declaration.ts'
import { schedule } from '../../src/contracts/schedule-declaration.ts'
import { openScene } from '../support/worker-scene.ts'
import { bodies, minute, oneStore } from './schedule-scene.ts'

const day = 24 * 60 * minute

describe('a schedule of an open app', () => {
  const app = defineApp('reports', {
    queues: { reports: queue({ schema: z.object({ at: z.string() }) }) },
    schedules: { everyMinute: schedule({ every: '1m', send: { queue: 'reports' } }) },
  })

  test('sends the moment of each tick, at that moment', async () => {
    const { mill, backend, clock } = await openScene(app)
    const [first] = await mill.schedules.everyMinute.next()
    assert.ok(first !== undefined)
    await clock.advance(first.getTime() - clock.now() - 1)
    assert.deepEqual(await bodies(backend, mill.queues.reports.name), [])
    await clock.advance(1)
    const expected = [JSON.stringify({ at: first.toISOString() })]
    assert.deepEqual(await bodies(backend, mill.queues.reports.name), expected)
    await clock.advance(3 * minute)
    assert.equal((await mill.queues.reports.statistics()).ready, 4)
    const { ticks, lastAt, nextAt, name, rule } = await mill.schedules.everyMinute.read()
    assert.deepEqual([ticks, name, rule], [4, 'everyMinute', 'every 1m'])
    assert.equal(lastAt?.getTime(), first.getTime() + 3 * minute)
    assert.equal(nextAt?.getTime(), first.getTime() + 4 * minute)
  })

  test('is told in the log, tick by tick', async () => {
    const { clock, lines } = await openScene(app)
    await clock.advance(minute)
    const [line, ...others] = lines.filter(({ message }) => message === 'schedule ticked')
    assert.deepEqual(others, [])
    assert.equal(line?.level, 'info')
    assert.equal(line?.fields['schedule'], 'everyMinute')
  })

  test('ticks on when the wall clock is set back, and repeats nothing', async () => {
    const { mill, clock } = await openScene(app)
    await clock.advance(2 * minute)
    clock.jumpWall(-60 * minute)
    await clock.advance(2 * minute)
    const { ticks, skipped } = await mill.schedules.everyMinute.read()
    assert.deepEqual([ticks, skipped], [4, 0])
  })

  test('does not tick because the wall clock is ahead for three seconds', async () => {
    const { mill, clock } = await openScene(app)
    await clock.advance(2 * minute)
    clock.jumpWall(5 * day)
    await clock.advance(3_000)
    clock.jumpWall(-5 * day)
    await clock.advance(2 * minute)
    const { ticks, skipped, nextAt } = await mill.schedules.everyMinute.read()
    assert.deepEqual([ticks, skipped, nextAt?.getTime()], [4, 0, clock.now() + minute - 3_000])
  })

  test('comes back when a clock that was ahead for long is set right', async () => {
    const { mill, clock } = await openScene(app)
    await clock.advance(minute)
    clock.jumpWall(5 * day)
    // Until the jump is believed it ticks as ever, and then makes up for what it seems to have missed.
    await clock.advance(10 * minute)
    const { lastAt, ticks } = await mill.schedules.everyMinute.read()
    assert.ok((lastAt?.getTime() ?? 0) > clock.now() - 2 * minute)
    clock.jumpWall(-5 * day)
    await clock.advance(10 * minute)
    const after = await mill.schedules.everyMinute.read()
    assert.ok((after.nextAt?.getTime() ?? 0) <= clock.now() + minute, 'it is still shifted')
    assert.ok(after.ticks - ticks >= 8, `${after.ticks - ticks} ticks in ten minutes`)
  })

  test('leaves no timer behind when the app is closed', async () => {
    const { mill, clock } = await openScene(app)
    await clock.advance(minute)
    await mill.close()
    assert.equal(clock.pendingTimers, 0)
  })
})

describe('what a tick sends', () => {
  test('may be made for it, and names the tick where the queue knows duplicates', async () => {
    const app = defineApp('shop', {
      queues: {
        orders: fifo(),
        grouped: fifo({ deduplication: 'explicit' }),
        work: jobs({ types: { CLEAN: z.object({ day: z.string() }) } }),
      },
      schedules: {
        order: schedule({ every: '1m', send: { queue: 'orders' }, payload: { fixed: true } }),
        group: schedule({ every: '1m', send: { queue: 'grouped', group: 'g-1' } }),
        clean: schedule({
          cron: '* * * * *',
          job: { queue: 'work', type: 'CLEAN' },
          payload: async ({ at, schedule: key }) => ({
            day: `${key} ${at.toISOString()}`,
          }),
        }),
      },
    })
    const { mill, backend, clock } = await openScene(app)
    await clock.advance(2 * minute)
    const last = (await mill.schedules.clean.read()).lastAt
    assert.ok(last !== null)
    const orders = await backend.peek({ queue: mill.queues.orders.name, state: 'ready', limit: 9 })
    // One body twice within five minutes, and still two messages: each tick has an id of its own.
    assert.deepEqual(
      orders.items.map(({ body, group }) => [body, group]),
      [
        ['{"fixed":true}', 'order'],
        ['{"fixed":true}', 'order'],
      ],
    )
    assert.equal(orders.items[1]?.deduplicationId, `shop-dev-order@${last.getTime()}`)
    assert.equal((await mill.queues.grouped.peek({ limit: 1 })).items[0]?.group, 'g-1')
    const { items } = await mill.jobs.list('work')
    assert.equal(items.length, 2)
    assert.deepEqual(items[0]?.payload, { day: `clean ${last.toISOString()}` })
    assert.equal(items[0]?.idempotencyKey, `shop-dev-clean@${last.getTime()}`)
  })

  test('is in the tier that its queue serves', async () => {
    const app = defineApp('shop', {
      queues: { lite: jobs({ types: { OCR: z.unknown() } }) },
      tiers: { small: { queue: 'lite', allows: ['OCR'] } },
      schedules: { scan: schedule({ every: '1m', job: { queue: 'lite', type: 'OCR' } }) },
    })
    const { mill, clock } = await openScene(app)
    await clock.advance(minute)
    assert.equal((await mill.jobs.list('lite')).items[0]?.tier, 'small')
  })

  test('is held against its contract when the app is opened, if it is always the same', async () => {
    const app = defineApp('shop', {
      queues: { reports: queue({ schema: z.object({ kind: z.string() }) }) },
      schedules: {
        // @ts-expect-error the queue does not accept the default payload
        plain: schedule({ every: '1m', send: { queue: 'reports' } }),
        // @ts-expect-error the payload does not fit
        wrong: schedule({ every: '1m', send: { queue: 'reports' }, payload: { kind: 7 } }),
        right: schedule({ every: '1m', send: { queue: 'reports' }, payload: { kind: 'daily' } }),
      },
    })
    await assert.rejects(openScene(app), (error: Error) => {
      assert.match(error.message, /schedules\.plain: message\.kind: got nothing, expected string/)
      assert.match(error.message, /schedules\.wrong: message\.kind: got a number, expected string/)
      assert.doesNotMatch(error.message, /right/)
      return true
    })
  })
})

const reportsWith = (every: '1m' | '10m' | undefined): App =>
  defineApp('reports', {
    queues: { reports: queue() },
    ...(every !== undefined && {
      schedules: { often: schedule({ every, send: { queue: 'reports' } }) },
    }),
  })

describe('several processes, stages and versions of an app', () => {
  test('make each tick once together', async () => {
    const { backend, clock, openApp } = await oneStore()
    for (let process = 0; process < 5; process += 1) await openApp(reportsWith('1m'))
    await clock.advance(10 * minute)
    const sent = await bodies(backend, 'reports-dev-reports')
    assert.equal(sent.length, 10)
    assert.equal(new Set(sent).size, 10)
  })

  test('restarted fifty times across a tick have one next run', async () => {
    const { backend, clock, openApp } = await oneStore()
    for (let restart = 0; restart < 50; restart += 1) {
      const mill = await openApp(reportsWith('1m'))
      await clock.advance(minute / 4)
      await mill.close()
    }
    const page = await backend.schedules?.list({ limit: 10 })
    assert.equal(page?.items.length, 1)
    assert.equal(page?.items[0]?.ticks, 12)
    assert.equal((await bodies(backend, 'reports-dev-reports')).length, 12)
  })

  test('have schedules of their own', async () => {
    const { backend, clock, openApp } = await oneStore()
    await openApp(reportsWith('1m'), 'dev')
    await openApp(reportsWith('10m'), 'prod')
    await clock.advance(10 * minute)
    assert.equal((await bodies(backend, 'reports-dev-reports')).length, 10)
    assert.equal((await bodies(backend, 'reports-prod-reports')).length, 1)
  })

  test('follow the rule of the version that was opened last', async () => {
    const { backend, clock, openApp } = await oneStore()
    await openApp(reportsWith('1m'))
    await openApp(reportsWith('10m'))
    await clock.advance(10 * minute)
    assert.equal((await bodies(backend, 'reports-dev-reports')).length, 1)
  })
})
