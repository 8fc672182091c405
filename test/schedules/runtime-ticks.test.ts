/** Ticks of schedules that were set at run time: across processes, versions, restarts and clocks. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { z } from 'zod'
import type { Mill } from '../../src/app/open.ts'
import type { Backend } from '../../src/backends/backend.ts'
import { type App, defineApp } from '../../src/contracts/define-app.ts'
import { jobs } from '../../src/contracts/jobs-declaration.ts'
import { fifo, queue } from '../../src/contracts/queue-declaration.ts'
import { schedule } from '../../src/contracts/schedule-declaration.ts'
import { MillraceError } from '../../src/core/millrace-error.ts'
import { openScene } from '../support/worker-scene.ts'
import { bodies, minute, oneStore } from './schedule-scene.ts'

const second = 1_000
const day = 24 * 60 * minute

const app = defineApp('shop', {
  queues: {
    ticks: queue({ schema: z.object({ at: z.string() }) }),
    orders: fifo(),
    mail: jobs({ types: { DIGEST: z.object({ user: z.number() }) } }),
  },
})

const everyMinute = { every: '1m', send: { queue: 'ticks' } } as const

describe('a schedule that was set', () => {
  test('ticks with its payload and the options of its job', async () => {
    const { mill, clock } = await openScene(app)
    await mill.schedules.set('digest/7', {
      every: '1m',
      job: { queue: 'mail', type: 'DIGEST', owner: 'anna', tenant: 't-1', attempts: 5 },
      payload: { user: 7 },
    })
    await clock.advance(2 * minute)
    const { items } = await mill.jobs.list('mail')
    assert.equal(items.length, 2)
    const [job] = items
    assert.deepEqual([job?.payload, job?.owner, job?.tenant], [{ user: 7 }, 'anna', 't-1'])
    assert.equal(job?.maxAttempts, 5)
    const { lastAt } = await mill.schedules.get('digest/7').read()
    assert.equal(job?.idempotencyKey, `shop-dev-digest/7@${lastAt?.getTime()}`)
  })

  test('sends the time of the tick if it has no payload, to the group of its name', async () => {
    const { mill, backend, clock } = await openScene(app)
    await mill.schedules.set('tick', everyMinute)
    await mill.schedules.set('order', { every: '1m', send: { queue: 'orders' } })
    await clock.advance(minute)
    const at = new Date(clock.now()).toISOString()
    const expected = [JSON.stringify({ at })]
    assert.deepEqual(await bodies(backend, mill.queues.ticks.name), expected)
    const { items } = await mill.queues.orders.peek()
    assert.deepEqual(
      items.map(({ group, body }) => [group, body]),
      [['order', expected[0]]],
    )
  })

  test('ticks in processes that were open before it was set', async () => {
    const { clock, openApp } = await oneStore()
    const first = await openApp(app)
    const second = await openApp(app)
    await clock.advance(5 * minute)
    await second.schedules.set('tick', everyMinute)
    await second.close()
    await clock.advance(2 * minute)
    assert.equal((await first.schedules.get('tick').read()).ticks, 2)
  })

  test('ticks once, however many processes run and restart', async () => {
    const { backend, clock, openApp } = await oneStore()
    const mill = await openApp(app)
    const names = Array.from({ length: 250 }, (_, index) => `tick/${index}`)
    await mill.schedules.setMany(names.map((name) => ({ ...everyMinute, name })))
    for (let round = 0; round < 5; round += 1) {
      const others = [await openApp(app), await openApp(app)]
      await clock.advance(minute)
      for (const other of others) await other.close()
    }
    const { ready } = await backend.queueStatistics({ queue: mill.queues.ticks.name })
    assert.equal(ready, 5 * names.length)
    for (const name of names) assert.equal((await mill.schedules.get(name).read()).ticks, 5)
  })

  test('makes up for missed ticks by its own policy', async () => {
    const { mill, clock } = await openScene(app)
    for (const missed of ['skip', 'once', 'all'] as const) {
      await mill.schedules.set(missed, { ...everyMinute, every: '1h', missed })
    }
    clock.sleep(5 * 60 * minute + 30 * minute)
    await clock.advance(2 * second)
    const read = async (name: string): Promise<readonly number[]> => {
      const { ticks, skipped } = await mill.schedules.get(name).read()
      return [ticks, skipped]
    }
    assert.deepEqual(await read('skip'), [0, 5])
    assert.deepEqual(await read('once'), [1, 4])
    assert.deepEqual(await read('all'), [5, 0])
  })

  test('is not sent any more with the payload that it had before', async () => {
    const { mill, clock } = await openScene(app)
    const mail = { every: '1m', job: { queue: 'mail', type: 'DIGEST' } } as const
    await mill.schedules.set('digest', { ...mail, payload: { user: 1 } })
    await clock.advance(minute)
    await mill.schedules.set('digest', { ...mail, payload: { user: 2 } })
    await clock.advance(minute)
    const { items } = await mill.jobs.list('mail')
    assert.deepEqual(
      items.map(({ payload }) => payload),
      [{ user: 2 }, { user: 1 }],
    )
  })
})

describe('the end of a schedule', () => {
  const until = new Date(Date.UTC(2026, 0, 1, 0, 3))

  test('is its last tick, with which it is removed', async () => {
    const { mill, clock, messages } = await openScene(app)
    await mill.schedules.set('tick', { ...everyMinute, until })
    assert.equal((await mill.schedules.get('tick').next(10)).length, 3)
    await clock.advance(10 * minute)
    assert.equal((await mill.queues.ticks.statistics()).ready, 3)
    await assert.rejects(mill.schedules.get('tick').read(), { code: 'schedule_not_found' })
    assert.ok(messages().includes('schedule ended'))
  })

  test('counts for missed ticks too', async () => {
    const { mill, backend, clock } = await openScene(app)
    await mill.schedules.set('tick', { ...everyMinute, until })
    clock.sleep(day)
    await clock.advance(2 * second)
    const expected = [JSON.stringify({ at: until.toISOString() })]
    assert.deepEqual(await bodies(backend, mill.queues.ticks.name), expected)
    assert.deepEqual((await mill.schedules.list()).items, [])
  })

  test('that passes during a pause is found by the resume', async () => {
    const { mill, clock } = await openScene(app)
    await mill.schedules.set('tick', { ...everyMinute, until })
    await mill.schedules.get('tick').pause({ by: 'anna' })
    await clock.advance(10 * minute)
    const { nextAt } = await mill.schedules.get('tick').resume({ by: 'anna' })
    assert.equal(nextAt, null)
    assert.deepEqual((await mill.schedules.list()).items, [])
  })

  test('leaves a declared schedule without a next tick', async () => {
    const { backend, clock, openApp } = await oneStore()
    const ending = defineApp('shop', {
      queues: { ticks: queue() },
      schedules: { tick: schedule({ every: '1m', send: { queue: 'ticks' }, until }) },
    })
    const mill = await openApp(ending)
    await clock.advance(10 * minute)
    await mill.close()
    // It is declared as before, and its end is over.
    const again = await openApp(ending)
    await clock.advance(10 * minute)
    const { ticks, nextAt, rule } = await again.schedules.tick.read()
    const text = 'every 1m until 2026-01-01T00:03:00.000Z'
    assert.deepEqual([ticks, nextAt, rule], [3, null, text])
    assert.equal((await bodies(backend, again.queues.ticks.name)).length, 3)
  })
})

describe('a schedule that a version of the app cannot tick', () => {
  const older = defineApp('shop', { queues: { ticks: app.queues.ticks } })
  const digest = {
    every: '1m',
    job: { queue: 'mail', type: 'DIGEST' },
    payload: { user: 7 },
  } as const

  test('is left to the version that can, and loses no tick', async () => {
    const { clock, openApp } = await oneStore()
    await openApp(older)
    const newer = await openApp(app)
    await newer.schedules.set('digest', { ...digest, missed: 'all' })
    await clock.advance(3 * minute)
    const { ticks, lastError } = await newer.schedules.get('digest').read()
    assert.deepEqual([ticks, lastError], [3, null])
    await newer.close()
    await clock.advance(10 * minute)
    const again = await openApp(app)
    await clock.advance(2 * second)
    const after = await again.schedules.get('digest').read()
    assert.deepEqual([after.ticks, after.skipped, after.failed], [13, 0, 0])
  })

  test('has a reason in its last error, and holds up no other', async () => {
    const { clock, openApp } = await oneStore()
    const newer = await openApp(app)
    const stuck = Array.from({ length: 300 }, (_, index) => ({
      ...digest,
      name: `digest/${index}`,
    }))
    await newer.schedules.setMany(stuck)
    await newer.schedules.set('tick', everyMinute)
    await newer.close()
    const mill = await openApp(older)
    await clock.advance(5 * minute)
    assert.equal((await mill.schedules.get('tick').read()).ticks, 5)
    const { lastError, ticks, failed } = await mill.schedules.get('digest/299').read()
    const reason = "No running version of the app has the queue or job type 'mail/DIGEST'."
    assert.deepEqual([lastError, ticks, failed], [reason, 0, 0])
    assert.equal((await mill.schedules.get('tick').read()).lastError, null)
  })

  test('outlives declared ones that no version has any more', async () => {
    const { clock, openApp } = await oneStore()
    const mill = await openApp(app)
    await mill.schedules.set('tick', everyMinute)
    await mill.close()
    await clock.advance(60 * minute)
    const again = await openApp(app)
    await clock.advance(10 * minute)
    assert.equal((await again.schedules.list()).items.length, 1)
  })
})

describe('a tick that fails', () => {
  const stricter = defineApp('shop', {
    queues: { ...app.queues, ticks: queue({ schema: z.object({ kind: z.string() }) }) },
  })

  test('because the contract has changed is recorded, and the schedule continues', async () => {
    const { clock, openApp } = await oneStore()
    const mill = await openApp(app)
    await mill.schedules.set('tick', everyMinute)
    await mill.schedules.set('order', { every: '1m', send: { queue: 'orders' } })
    await mill.close()
    const newer = await openApp(stricter)
    await clock.advance(3 * minute)
    const { ticks, failed, lastError } = await newer.schedules.get('tick').read()
    assert.deepEqual([ticks, failed], [0, 3])
    assert.equal(lastError, 'message.kind: got nothing, expected string')
    assert.equal((await newer.schedules.get('order').read()).ticks, 3)
  })

  test('is a notice at once, because the payload will not change', async () => {
    const { mill, backend, clock, lines } = await openScene(app)
    await mill.schedules.set('tick', everyMinute)
    await mill.schedules.set('order', { every: '1m', send: { queue: 'orders' } })
    await backend.deleteQueue({ queue: mill.queues.ticks.name })
    await clock.advance(2 * minute)
    const failures = lines.filter(({ message }) => message === 'schedule tick failed')
    assert.deepEqual(
      failures.map(({ level, fields }) => [level, fields['schedule'], fields['tries']]),
      [
        ['error', 'tick', 1],
        ['error', 'tick', 1],
      ],
    )
    assert.equal((await mill.schedules.get('tick').read()).failed, 2)
    assert.equal((await mill.schedules.get('order').read()).ticks, 2)
  })

  test('with an error of the whole call fails alone', async () => {
    const { mill, clock, backend } = await openScene(app)
    const mail = { every: '1m', job: { queue: 'mail', type: 'DIGEST' } } as const
    const names = ['a', 'b', 'c']
    await mill.schedules.setMany(names.map((name) => ({ ...mail, name, payload: { user: 1 } })))
    // The key of the coming tick is taken, by a job with another payload.
    const [next] = await mill.schedules.get('b').next()
    const idempotencyKey = `shop-dev-b@${next?.getTime()}`
    await mill.jobs.enqueue('mail', 'DIGEST', { user: 2 }, { idempotencyKey })
    await clock.advance(minute)
    const read = await Promise.all(names.map((name) => mill.schedules.get(name).read()))
    assert.deepEqual(
      read.map(({ ticks, failed }) => [ticks, failed]),
      [
        [1, 0],
        [0, 1],
        [1, 0],
      ],
    )
    const { ready } = await backend.queueStatistics({ queue: mill.queues.mail.name })
    assert.equal(ready, 3)
  })

  test('because this version cannot read it is left alone, and holds up no other', async () => {
    const { mill, backend, clock, messages } = await openScene(app)
    await mill.schedules.set('tick', everyMinute)
    const written = { rule: 'whenever', definition: '{}', target: 'ticks', nextAt: clock.now() }
    const example = { queue: mill.queues.ticks.name, message: { body: '{"at":"now"}' } }
    const schedules = [{ ...written, schedule: 'shop-dev-newer', example }]
    await backend.schedules?.set({ scope: 'shop/dev', schedules })
    await clock.advance(minute)
    assert.equal((await mill.schedules.get('tick').read()).ticks, 1)
    const lines = messages().filter((text) => text === 'schedule not readable')
    assert.ok(lines.length >= 50 && lines.length <= 65, `${lines.length} lines in a minute`)
    assert.equal((await mill.schedules.get('newer').read()).failed, 0)
  })

  test('costs nothing while the store cannot be written', async () => {
    let isBroken = true
    const wrap = (backend: Backend): Backend => {
      const { schedules } = backend
      assert.ok(schedules !== null)
      const tick: typeof schedules.tick = async (request) => {
        if (isBroken) throw new MillraceError('store_busy')
        return schedules.tick(request)
      }
      return { ...backend, schedules: { ...schedules, tick } }
    }
    const { mill, clock } = await openScene(app, { wrap })
    await mill.schedules.set('tick', everyMinute)
    await clock.advance(minute + 5 * second)
    isBroken = false
    await clock.advance(minute)
    const { ticks, failed } = await mill.schedules.get('tick').read()
    assert.deepEqual([ticks, failed], [2, 0])
  })
})

describe('a wall clock that was ahead for long and is set right', () => {
  test('brings back schedules that were set, like declared ones', async () => {
    const { mill, clock } = await openScene(app)
    const names = Array.from({ length: 30 }, (_, index) => `tick/${index}`)
    await mill.schedules.setMany(names.map((name) => ({ ...everyMinute, name })))
    await clock.advance(minute)
    clock.jumpWall(5 * day)
    await clock.advance(10 * minute)
    clock.jumpWall(-5 * day)
    const before = (await mill.schedules.get('tick/29').read()).ticks
    await clock.advance(10 * minute)
    const { nextAt, ticks } = await mill.schedules.get('tick/29').read()
    assert.ok((nextAt?.getTime() ?? 0) <= clock.now() + minute, 'it is still shifted')
    assert.ok(ticks - before >= 8, `${ticks - before} ticks in ten minutes`)
  })
})

describe('an app', () => {
  test('with schedules that were set leaves no timer behind when it is closed', async () => {
    const { mill, clock } = await openScene(app)
    await mill.schedules.set('tick', everyMinute)
    await clock.advance(minute)
    await mill.close()
    assert.equal(clock.pendingTimers, 0)
  })

  test('closes although a schema never answers', async () => {
    const stuck = defineApp('shop', { queues: { ticks: queue({ schema: neverAnswers() }) } })
    const { clock, openApp } = await oneStore()
    const mill: Mill<App> = await openApp<App>(defineApp('shop', { queues: { ticks: queue() } }))
    await mill.schedules.set('tick', everyMinute)
    await mill.close()
    const slow = await openApp(stuck)
    await clock.advance(minute + second)
    await slow.close()
    assert.equal(clock.pendingTimers, 0)
  })
})

/** A schema that is asynchronous and does not end. */
function neverAnswers() {
  return z.unknown().refine(() => new Promise<boolean>(() => undefined))
}
