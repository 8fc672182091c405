import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { z } from 'zod'
import { assertTimesAsLong } from '../../test/support/processor-time.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { collector, triggers } from './collector-declaration.ts'
import { defineApp } from './define-app.ts'
import { jobs } from './jobs-declaration.ts'
import { fifo, queue } from './queue-declaration.ts'
import { type ScheduleOptions, schedule } from './schedule-declaration.ts'
import { ruleOf } from './schedule-rule.ts'

const queues = {
  reports: queue(),
  orders: fifo(),
  work: jobs({ types: { CLEAN: z.object({}) } }),
  waiting: triggers(),
}

const collectors = {
  notes: collector({
    schema: z.string(),
    key: (note) => note,
    id: (note) => note,
    window: '1s',
    triggers: 'waiting',
    targets: ['reports'],
    merge: (notes) => notes,
  }),
}

/** The complaints about one schedule; what is declared may come from plain JavaScript. */
function complaints(options: unknown): readonly string[] {
  try {
    const nightly = schedule(options as ScheduleOptions)
    defineApp('reports', { queues, collectors, schedules: { nightly } })
    return []
  } catch (error) {
    assert.ok(error instanceof MillraceError && error.code === 'invalid_contract')
    return error.message.split('\n')
  }
}

const toReports = { send: { queue: 'reports' } }
const toWork = { job: { queue: 'work', type: 'CLEAN' } }

describe('a schedule that is in order', () => {
  test.each<[string, ScheduleOptions]>([
    ['cron of five fields', { cron: '0 9 * * 1-5', timezone: 'Europe/Berlin', ...toReports }],
    ['cron of six fields', { cron: '*/10 * * * * *', ...toReports }],
    ['a nickname', { cron: '@daily', ...toReports }],
    ['names of days and months', { cron: '0 0 1 JAN-MAR MON', ...toReports }],
    ['the 29th of February', { cron: '0 0 29 2 *', ...toReports }],
    ['the shortest interval', { every: '1s', ...toReports, missed: 'skip' }],
    ['the longest interval', { every: '365d', ...toReports, payload: { a: 1 } }],
    ['an end, also one that is over', { every: '1h', ...toReports, until: new Date(0) }],
    ['a job', { every: '1h', ...toWork, payload: () => ({}) }],
    [
      'the options of a job',
      {
        every: '1h',
        job: { ...toWork.job, owner: 'anna', tenant: 't', tier: 'small', attempts: 5 },
      },
    ],
    ['a FIFO queue', { every: '1h', send: { queue: 'orders', group: 'nightly' }, missed: 'all' }],
  ])('%s', (_what, options) => {
    assert.deepEqual(complaints(options), [])
  })
})

describe('a schedule is refused with', () => {
  const hourly = { every: '1h' }
  const job = (options: object): object => ({ ...hourly, job: { ...toWork.job, ...options } })
  const cases: readonly (readonly [string, unknown, string])[] = [
    ['no rule', toReports, 'got neither, expected either cron or every'],
    ['two rules', { ...toReports, cron: '* * * * *', every: '1h' }, 'got both'],
    ['four fields', { ...toReports, cron: '* * * *' }, 'a cron expression of five fields'],
    ['seven fields', { ...toReports, cron: '0 0 0 1 1 * 2030' }, 'expression of five fields'],
    ['no text', { ...toReports, cron: 7 }, 'schedules.nightly.cron: got 7'],
    ['an endless text', { ...toReports, cron: `0${',0'.repeat(200)} * * * *` }, '256'],
    ['an unknown zone', { ...toReports, cron: '0 0 * * *', timezone: 'Mars/Olympus' }, 'IANA'],
    ['an offset', { ...toReports, cron: '0 0 * * *', timezone: '+02:00' }, 'IANA time zone'],
    [
      'a zone for an interval',
      { ...toReports, every: '1h', timezone: 'UTC' },
      'does not depend on a time zone',
    ],
    ['too short an interval', { ...toReports, every: '999ms' }, 'got 999ms'],
    ['too long an interval', { ...toReports, every: '366d' }, '1s to 365d'],
    ['an end that is not a date', { ...toReports, ...hourly, until: '2027-01-01' }, '.until: got'],
    [
      'an invalid date',
      { ...toReports, ...hourly, until: new Date(Number.NaN) },
      'an invalid Date, expected a Date',
    ],
    ['no target', hourly, 'got neither, expected either job or send'],
    ['two targets', { ...hourly, ...toReports, ...toWork }, 'got both, expected either job or'],
    ['a target that is not an object', { ...hourly, send: 'reports' }, 'expected { queue, group }'],
    ['an unknown queue', { ...hourly, send: { queue: 'report' } }, "did you mean 'reports'"],
    ['a queue of triggers', { ...hourly, send: { queue: 'waiting' } }, 'the key of a declared'],
    ['no type for jobs', { ...hourly, job: { queue: 'work' } }, 'job.type: got undefined'],
    ['an unknown type', job({ type: 'constructor' }), 'one of CLEAN'],
    ['messages for jobs', { ...hourly, send: { queue: 'work' } }, 'use job instead of send'],
    ['jobs for messages', job({ queue: 'reports' }), 'use send instead of job'],
    ['an empty owner', job({ owner: '' }), 'job.owner: got'],
    ['a tenant of a space', job({ tenant: ' ' }), 'punctuation marks'],
    ['too many attempts', job({ attempts: 1_001 }), '1 to 1000'],
    ['an unknown option of a job', job({ coalesce: true }), 'job.coalesce: got an unknown option'],
    [
      'a group on a standard queue',
      { ...hourly, send: { queue: 'reports', group: 'g' } },
      'only a schedule for',
    ],
    ['a group of a space', { ...hourly, send: { queue: 'orders', group: ' ' } }, 'punctuation'],
    ['an unknown policy', { ...toReports, ...hourly, missed: 'twice' }, 'one of skip, once'],
    ['an unknown option', { ...toReports, ...hourly, catchUp: true }, 'an unknown option'],
  ]
  test.each(cases)('%s', (_what, options, complaint) => {
    const found = complaints(options)
    assert.equal(found.length, 1, found.join('\n'))
    assert.ok(found[0]?.includes(complaint), found[0])
  })

  test('nothing that schedule({...}) has made', () => {
    const declare = (schedules: unknown): void => {
      // @ts-expect-error the types do not let it through
      defineApp('reports', { queues, schedules })
    }
    assert.throws(() => declare('nightly'), /schedules: got 'nightly', expected an object/)
    assert.throws(() => declare({ nightly: { every: '1h' } }), /a schedule made with schedule\(/)
  })

  test('a key that cannot be part of a name, or a name that two have', () => {
    const hourly = schedule({ every: '1h', send: { queue: 'reports' } })
    const declare = (schedules: Record<string, typeof hourly>): unknown =>
      defineApp('reports', { queues, schedules })
    assert.throws(() => declare({ 'night ly': hourly }), /schedules\.night ly: got 'night ly'/)
    assert.throws(() => declare({ nightRun: hourly, 'night-run': hourly }), /a unique name/)
    assert.throws(() => declare({ ['x'.repeat(600)]: hourly }), /1 to 512 characters/)
  })
})

describe('a schedule named like a function of mill.schedules', () => {
  test.each(['set', 'setMany', 'get', 'remove', 'list'])('is refused: %s', (key) => {
    const schedules = { [key]: schedule({ every: '1h', ...toReports }) }
    assert.throws(() => defineApp('reports', { queues, schedules }), /functions of mill\.schedules/)
  })
})

describe('a wrong cron expression', () => {
  const cronForm = 'a cron expression of five fields, or six with seconds first'
  const also = 'also as a list, a range or a step, or *'

  test.each([
    ['60 * * * *', " with '60' as the minute", `0 to 59, ${also}`],
    ['* 24 * * *', " with '24' as the hour", `0 to 23, ${also}`],
    ['61 * * * * *', " with '61' as the second", `0 to 59, ${also}`],
    ['0 0 1-40 * *', " with '1-40' as the day of the month", `1 to 31, or L, ${also}`],
    ['0 0 * MAI *', " with 'MAI' as the month", `1 to 12, or JAN to DEC, ${also}`],
    ['0 0 * * 8', " with '8' as the day of the week", `0 to 7, or SUN to SAT, ${also}`],
    ['*/0 * * * *', " with '*/0' as the minute", `0 to 59, ${also}`],
    ['* * * *', ' (fields: 4)', cronForm],
    ['now', ' (fields: 1)', cronForm],
    [' ', ' (fields: 0)', cronForm],
    ['0 0 0 1 1 * 2030', ' (fields: 7)', cronForm],
    ['@nightly', '', `${cronForm}, or a shortcut such as @hourly, @daily or @monthly`],
    ['0 0 ? * *', '', '* instead of ?'],
  ])('%j is described in our own words', (cron, what, expected) => {
    assert.deepEqual(complaints({ cron, ...toReports }), [
      `schedules.nightly.cron: got '${cron}'${what}, expected ${expected}`,
    ])
  })
})

describe('an impossible moment', () => {
  const impossible = [
    '0 0 30 2 *',
    '0 0 31 2,4,6 *',
    '0 0 31 2,4,6,9,11 *',
    '0 0 30-31 FEB *',
    '* * * 31 9 *',
    '0 0 30W 2 *',
  ]

  test.each(impossible)('%s is refused', (cron) => {
    for (const timezone of ['UTC', 'America/New_York']) {
      assert.deepEqual(complaints({ cron, timezone, ...toReports }), [
        `schedules.nightly.cron: got '${cron}', expected a cron expression that matches at least one date`,
      ])
    }
  })

  test('is not looked for day by day', async () => {
    // Ticks are remembered, so each look is from another time.
    let at = 0
    const nextOfEach = (crons: readonly string[]) => () => {
      at += 1_000
      for (const cron of crons) ruleOf({ cron, timezone: 'America/New_York' }).nextAfter(at)
    }
    // There are three million days until the year 9999.
    await assertTimesAsLong({
      work: nextOfEach(impossible),
      reference: nextOfEach(['0 0 29 2 *']),
      timesMax: 5_000,
    })
  })
})

describe('the janitor', () => {
  test('takes times from a second to a year', () => {
    const declare = (janitor: unknown): unknown =>
      // @ts-expect-error what is declared may come from plain JavaScript
      defineApp('reports', { queues, collectors, janitor })
    declare({})
    declare({ pendingFor: '1s', processingFor: '365d' })
    assert.throws(() => declare({ pendingFor: '0s' }), /janitor\.pendingFor: got 0s/)
    assert.throws(() => declare({ stuckFor: '1h' }), /janitor\.stuckFor: got an unknown option/)
    assert.throws(() => declare('1h'), /janitor: got '1h'/)
  })
})
