/** Schedules that are created, changed, listed and removed while the app runs. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { z } from 'zod'
import { defineApp } from '../../src/contracts/define-app.ts'
import { jobs } from '../../src/contracts/jobs-declaration.ts'
import { fifo, queue } from '../../src/contracts/queue-declaration.ts'
import { schedule } from '../../src/contracts/schedule-declaration.ts'
import { MillraceError } from '../../src/core/millrace-error.ts'
import { openScene } from '../support/worker-scene.ts'
import { minute, oneStore } from './schedule-scene.ts'

const day = 24 * 60 * minute

const app = defineApp('shop', {
  queues: {
    mail: jobs({
      types: { DIGEST: z.object({ user: z.number() }), PING: z.unknown() },
    }),
    reports: queue({ schema: z.object({ kind: z.string() }), maxMessageBytes: 1_024 }),
    orders: fifo(),
  },
  tiers: { small: { queue: 'mail', allows: ['PING', 'DIGEST'] } },
  schedules: {
    nightlyReport: schedule({
      cron: '0 2 * * *',
      send: { queue: 'reports' },
      payload: { kind: 'nightly' },
    }),
  },
})

const digest = {
  cron: '0 8 * * *',
  timezone: 'Europe/Berlin',
  job: { queue: 'mail', type: 'DIGEST' },
  payload: { user: 7 },
} as const

describe('a schedule that is set', () => {
  test('is created, kept, and changed, with its next tick', async () => {
    const { mill, clock } = await openScene(app)
    assert.equal(await mill.schedules.set('digest/7', digest), 'created')
    const handle = mill.schedules.get('digest/7')
    const [first] = await handle.next()
    assert.equal(first?.toISOString(), '2026-01-01T07:00:00.000Z')
    clock.sleep(6 * 60 * minute)
    assert.equal(await mill.schedules.set('digest/7', digest), 'unchanged')
    const reordered = { ...digest, job: { type: 'DIGEST', queue: 'mail' } } as const
    assert.equal(await mill.schedules.set('digest/7', reordered), 'unchanged')
    const later = { ...digest, cron: '0 9 * * *' } as const
    assert.equal(await mill.schedules.set('digest/7', later), 'changed')
    const [moved] = await handle.next()
    assert.equal(moved?.toISOString(), '2026-01-01T08:00:00.000Z')
    const read = await handle.read()
    assert.deepEqual(
      [read.name, read.isDeclared, read.rule, read.definition],
      [
        'digest/7',
        false,
        'cron 0 9 * * * in Europe/Berlin',
        { job: { queue: 'mail', type: 'DIGEST' }, payload: { user: 7 } },
      ],
    )
  })

  test('keeps a pause when it changes', async () => {
    const { mill } = await openScene(app)
    await mill.schedules.set('digest/7', digest)
    await mill.schedules.get('digest/7').pause({ by: 'anna' })
    await mill.schedules.set('digest/7', { ...digest, payload: { user: 8 } })
    const { pausedBy, nextAt } = await mill.schedules.get('digest/7').read()
    assert.deepEqual([pausedBy, nextAt], ['anna', null])
    const resumed = await mill.schedules.get('digest/7').resume({ by: 'ben' })
    assert.equal(resumed.nextAt?.toISOString(), '2026-01-01T07:00:00.000Z')
  })

  test('runs by hand, and is removed once', async () => {
    const { mill } = await openScene(app)
    await mill.schedules.set('digest/7', digest)
    const id = await mill.schedules.get('digest/7').runNow({ by: 'anna' })
    assert.deepEqual((await mill.jobs.get(id))?.payload, { user: 7 })
    assert.equal(await mill.schedules.remove('digest/7'), true)
    assert.equal(await mill.schedules.get('digest/7').remove(), false)
    const gone = { code: 'schedule_not_found' }
    await assert.rejects(mill.schedules.get('digest/7').read(), gone)
    await assert.rejects(mill.schedules.get('digest/7').runNow({ by: 'anna' }), gone)
    await assert.rejects(mill.schedules.get('digest/7').pause({ by: 'anna' }), gone)
  })

  test('may have any name of 1 to 256 characters', async () => {
    const { mill, clock } = await openScene(app)
    const names = ['x'.repeat(256), 'ü ’ % _ /', "'; --", '__proto__', 'toString']
    const every = { every: '1m', job: { queue: 'mail', type: 'PING' } } as const
    for (const name of names) assert.equal(await mill.schedules.set(name, every), 'created')
    await clock.advance(2 * minute)
    for (const name of names) {
      const { ticks, name: shown } = await mill.schedules.get(name).read()
      assert.deepEqual([shown, ticks], [name, 2])
    }
    assert.equal((await mill.jobs.list('mail', { limit: 100 })).items.length, 10)
  })

  test('belongs to one app and stage', async () => {
    const { openApp } = await oneStore()
    const dev = await openApp(app, 'dev')
    const prod = await openApp(app, 'prod')
    await dev.schedules.set('digest/7', digest)
    assert.deepEqual((await prod.schedules.list({ prefix: 'digest' })).items, [])
    assert.equal(await prod.schedules.set('digest/7', digest), 'created')
    assert.equal(await prod.schedules.remove('digest/7'), true)
    assert.equal((await dev.schedules.get('digest/7').read()).ticks, 0)
  })
})

describe('many schedules', () => {
  test('are set in one call, all or none', async () => {
    const { mill } = await openScene(app)
    const many = Array.from({ length: 1_000 }, (_, user) => ({
      ...{ ...digest, name: `digest/${user}`, payload: { user } },
    }))
    const changes = await mill.schedules.setMany(many)
    assert.deepEqual([changes.length, new Set(changes)], [1_000, new Set(['created'])])
    const again = await mill.schedules.setMany(many.slice(0, 2))
    assert.deepEqual(again, ['unchanged', 'unchanged'])
    assert.deepEqual(await mill.schedules.setMany([]), [])
    const wrong = [
      { ...digest, name: 'new' },
      { ...digest, name: 'wrong', payload: { user: 'x' as never } },
      { ...digest, name: 'wrong too', cron: 'now' },
    ]
    await assert.rejects(mill.schedules.setMany(wrong), /schedules\[2\]\.cron: got 'now'/)
    const broken = mill.schedules.setMany(wrong.slice(0, 2))
    await assert.rejects(broken, /schedules\[1\]\.payload\.user: got a string, expected number/)
    const twice = [wrong[0], wrong[0]].flatMap((one) => one ?? [])
    await assert.rejects(mill.schedules.setMany(twice), /schedules\[1\]\.name: .* each name once/)
    await assert.rejects(mill.schedules.get('new').read(), { code: 'schedule_not_found' })
    const tooMany = Array.from({ length: 1_001 }, () => many[0]).flatMap((one) => one ?? [])
    await assert.rejects(mill.schedules.setMany(tooMany), /1001 schedules, expected an array of/)
  })

  test('are listed by name in pages, with declared ones, by prefix', async () => {
    const { mill } = await openScene(app)
    const names = ['digest/1', 'digest/2', 'digest/3', 'mail', 'nightly', 'nightlyZ', 'ä']
    await mill.schedules.setMany(names.map((name) => ({ ...digest, name })))
    const listed = async (prefix: string): Promise<readonly (readonly [string, boolean])[]> => {
      const found: [string, boolean][] = []
      let after: string | undefined
      do {
        const page = await mill.schedules.list({ prefix, limit: 2, ...(after && { after }) })
        assert.ok(page.items.length <= 2)
        found.push(
          ...page.items.map(({ name, isDeclared }): [string, boolean] => [name, isDeclared]),
        )
        after = page.next
      } while (after !== undefined)
      return found
    }
    const set = (name: string): readonly [string, boolean] => [name, false]
    const declared = ['nightlyReport', true] as const
    assert.deepEqual(await listed(''), [
      ...names.slice(0, 5).map(set),
      declared,
      ...names.slice(5).map(set),
    ])
    assert.deepEqual(await listed('digest/'), names.slice(0, 3).map(set))
    assert.deepEqual(await listed('nightly'), [set('nightly'), declared, set('nightlyZ')])
    assert.deepEqual(await listed('nothing'), [])
    assert.equal((await mill.schedules.list()).items.length, 8)
    await assert.rejects(mill.schedules.list({ limit: 0 }), { code: 'invalid_argument' })
    await assert.rejects(mill.schedules.list({ first: 1 } as never), /an unknown option/)
  })
})

describe('a schedule is refused, and nothing changes, with', () => {
  const reports = { every: '1h', send: { queue: 'reports' }, payload: { kind: 'x' } } as const
  type Case = readonly [what: string, options: unknown, complaint: RegExp]
  const cases: readonly Case[] = [
    ['an invalid cron', { ...digest, cron: '61 * * * *' }, /^cron: got '61 \* \* \* \*'/],
    ['an impossible date', { ...digest, cron: '0 0 30 2 *' }, /^cron: .*at least one date/],
    ['an invalid zone', { ...digest, timezone: 'Mars/Olympus' }, /^timezone: .*IANA time zone/],
    ['cron and every', { ...digest, every: '1h' }, /got both, expected either cron or every/],
    ['neither', { ...digest, cron: undefined }, /got neither, expected either cron or every/],
    ['an unknown queue', { ...reports, send: { queue: 'report' } }, /did you mean 'reports'/],
    ['an unknown type', { ...digest, job: { queue: 'mail', type: 'DIGST' } }, /mean 'DIGEST'/],
    ['a payload that does not fit', { ...digest, payload: { user: 'x' } }, /^payload\.user: got a/],
    ['a message that does not fit', { ...reports, payload: { kind: 7 } }, /^payload\.kind: got a/],
    ['no payload where one is needed', { ...reports, payload: undefined }, /^payload\.kind: got n/],
    ['a function', { ...reports, payload: () => ({ kind: 'x' }) }, /^payload: got a function/],
    ['an end in the past', { ...digest, until: new Date(0) }, /^until: got 1970.*next ten years/],
    [
      'an end after more than ten years',
      { ...digest, until: new Date(Date.UTC(2036, 1, 1)) },
      /^until: got 2036-02-01T00:00:00.000Z, expected a time in the next ten years/,
    ],
    [
      'an end before the first tick',
      { ...digest, until: new Date(Date.UTC(2026, 0, 1, 6, 59)) },
      /^until: .*a time after the first tick/,
    ],
    ['an end that is not a date', { ...digest, until: '2027-01-01' }, /^until: .*expected a Date/],
    ['an unknown option', { ...digest, catchUp: true }, /^catchUp: got an unknown option/],
    ['nothing at all', undefined, /^schedule: got undefined/],
    [
      'a tier that does not exist',
      { ...digest, job: { ...digest.job, tier: 'large' } },
      /tier 'large'/,
    ],
    [
      'a message that is too large for its queue',
      { ...reports, payload: { kind: 'x'.repeat(2_000) } },
      /1024 bytes/,
    ],
    [
      'a name that cannot be a group',
      { every: '1h', send: { queue: 'orders' }, payload: {} },
      /^send\.group: got 'no group'/,
    ],
  ]
  test.each(cases)('%s', async (_what, options, complaint) => {
    const { mill } = await openScene(app)
    await mill.schedules.set('no group', { ...digest, payload: { user: 1 } })
    const before = await mill.schedules.get('no group').read()
    // What a call passes may come from plain JavaScript.
    await assert.rejects(mill.schedules.set('no group', options as never), (error: unknown) => {
      assert.ok(error instanceof MillraceError, String(error))
      assert.match(error.message, complaint)
      assert.doesNotMatch(error.message, /xxxxx/)
      return true
    })
    assert.deepEqual(await mill.schedules.get('no group').read(), before)
  })

  test.each([
    ['no name', '', /^MillraceError: name: got '', expected a string of 1 to 256 characters/],
    ['a name that is too long', 'x'.repeat(257), /^MillraceError: name: .*1 to 256 characters/],
    ['a name that is not a string', 7, /^MillraceError: name: got 7/],
    ['a name with a NUL', 'a\0b', /^MillraceError: name: .*without NUL/],
    [
      'the name of a declared one',
      'nightlyReport',
      /^MillraceError: name: .*no declared schedule has/,
    ],
    ['its name in the store', 'nightly-report', /not declared by an app/],
  ])('%s', async (_what, name, complaint) => {
    const { mill } = await openScene(app)
    await assert.rejects(mill.schedules.set(name as string, digest), complaint)
    assert.equal((await mill.schedules.list()).items.length, 1)
  })

  test('a declared one to remove', async () => {
    const { mill } = await openScene(app)
    const refused = { code: 'invalid_argument', message: /change its declaration/ }
    await assert.rejects(mill.schedules.remove('nightlyReport'), refused)
    await assert.rejects(mill.schedules.nightlyReport.remove(), refused)
    assert.equal((await mill.schedules.nightlyReport.read()).isDeclared, true)
  })

  test('a declaration of a name that is set', async () => {
    const { openApp } = await oneStore()
    const mill = await openApp(app)
    await mill.schedules.set('weekly', digest)
    const newer = defineApp('shop', {
      queues: app.queues,
      schedules: { weekly: schedule({ every: '7d', send: { queue: 'orders' } }) },
    })
    await assert.rejects(openApp(newer), /remove the schedule that was set under this one/)
    assert.equal((await mill.schedules.get('weekly').read()).isDeclared, false)
  })

  test('a declared end after more than ten years', async () => {
    const { openApp } = await oneStore()
    const until = new Date(Date.UTC(2026, 0, 1) + 3_654 * day)
    const far = defineApp('shop', {
      queues: { reports: queue() },
      schedules: { weekly: schedule({ every: '7d', send: { queue: 'reports' }, until }) },
    })
    await assert.rejects(openApp(far), /schedules\.weekly: until: .*within ten years/)
  })
})
