import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { z } from 'zod'
import { MillraceError } from '../core/millrace-error.ts'
import { collector, triggers } from './collector-declaration.ts'
import { defineApp } from './define-app.ts'
import { jobs } from './jobs-declaration.ts'
import { fifo, queue } from './queue-declaration.ts'
import { type ScheduleOptions, schedule } from './schedule-declaration.ts'

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

describe('a schedule that is in order', () => {
  test.each<[string, ScheduleOptions]>([
    ['cron of five fields', { cron: '0 9 * * 1-5', zone: 'Europe/Berlin', queue: 'reports' }],
    ['cron of six fields', { cron: '*/10 * * * * *', queue: 'reports' }],
    ['a nickname', { cron: '@daily', queue: 'reports' }],
    ['names of days and months', { cron: '0 0 1 JAN-MAR MON', queue: 'reports' }],
    ['the 29th of February', { cron: '0 0 29 2 *', queue: 'reports' }],
    ['the shortest interval', { every: '1s', queue: 'reports', missed: 'skip' }],
    ['the longest interval', { every: '365d', queue: 'reports', payload: { a: 1 } }],
    ['a job', { every: '1h', queue: 'work', type: 'CLEAN', payload: () => ({}) }],
    ['a FIFO queue', { every: '1h', queue: 'orders', group: 'nightly', missed: 'all' }],
  ])('%s', (_what, options) => {
    assert.deepEqual(complaints(options), [])
  })
})

describe('a schedule is refused with', () => {
  const cases: readonly (readonly [string, unknown, string])[] = [
    ['no rule', { queue: 'reports' }, 'got neither, expected either cron or every'],
    ['two rules', { queue: 'reports', cron: '* * * * *', every: '1h' }, 'got both'],
    ['a field out of range', { queue: 'reports', cron: '60 * * * *' }, 'for minute: 60'],
    ['four fields', { queue: 'reports', cron: '* * * *' }, 'a cron expression of five fields'],
    ['seven fields', { queue: 'reports', cron: '0 0 0 1 1 * 2030' }, 'expression of five fields'],
    ['no text', { queue: 'reports', cron: 7 }, 'schedules.nightly.cron: got 7'],
    ['an endless text', { queue: 'reports', cron: `0${',0'.repeat(200)} * * * *` }, '256'],
    ['a question mark', { queue: 'reports', cron: '? * * * *' }, '? is not supported'],
    ['an unknown zone', { queue: 'reports', cron: '0 0 * * *', zone: 'Mars/Olympus' }, 'IANA'],
    ['an offset', { queue: 'reports', cron: '0 0 * * *', zone: '+02:00' }, 'IANA time zone'],
    [
      'a zone for an interval',
      { queue: 'reports', every: '1h', zone: 'UTC' },
      'does not depend on a time zone',
    ],
    ['too short an interval', { queue: 'reports', every: '999ms' }, 'got 999ms'],
    ['too long an interval', { queue: 'reports', every: '366d' }, '1s to 365d'],
    ['an unknown queue', { queue: 'report', every: '1h' }, "did you mean 'reports'"],
    ['a queue of triggers', { queue: 'waiting', every: '1h' }, 'the key of a declared queue'],
    ['no type for jobs', { queue: 'work', every: '1h' }, '.type: got undefined'],
    ['an unknown type', { queue: 'work', every: '1h', type: 'constructor' }, 'one of CLEAN'],
    ['a type for messages', { queue: 'reports', every: '1h', type: 'CLEAN' }, 'not a jobs queue'],
    [
      'a group on a standard queue',
      { queue: 'reports', every: '1h', group: 'g' },
      'only a schedule for',
    ],
    ['a group of a space', { queue: 'orders', every: '1h', group: ' ' }, 'punctuation marks'],
    ['an unknown policy', { queue: 'reports', every: '1h', missed: 'twice' }, 'one of skip, once'],
    ['an unknown option', { queue: 'reports', every: '1h', catchUp: true }, 'an unknown option'],
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
    const hourly = schedule({ every: '1h', queue: 'reports' })
    const declare = (schedules: Record<string, typeof hourly>): unknown =>
      defineApp('reports', { queues, schedules })
    assert.throws(() => declare({ 'night ly': hourly }), /schedules\.night ly: got 'night ly'/)
    assert.throws(() => declare({ nightRun: hourly, 'night-run': hourly }), /a unique name/)
    assert.throws(() => declare({ ['x'.repeat(90)]: hourly }), /1 to 80 characters/)
  })
})

describe('an impossible moment', () => {
  test.each([
    '0 0 30 2 *',
    '0 0 31 2,4,6 *',
    '0 0 31 2,4,6,9,11 *',
    '0 0 30-31 FEB *',
    '* * * 31 9 *',
    '0 0 30W 2 *',
  ])('%s is refused in less than 50 ms', (cron) => {
    for (const zone of ['UTC', 'America/New_York']) {
      const before = performance.now()
      const found = complaints({ cron, zone, queue: 'reports' })
      const tookMs = performance.now() - before
      assert.deepEqual(found, [
        `schedules.nightly.cron: got '${cron}', expected a cron expression that matches at least one date`,
      ])
      assert.ok(tookMs < 50, `it took ${tookMs} ms`)
    }
  })
})

describe('the janitor', () => {
  test('takes times from a second to a year', () => {
    const declare = (janitor: unknown): unknown =>
      // @ts-expect-error what is declared may come from plain JavaScript
      defineApp('reports', { queues, collectors, janitor })
    declare({})
    declare({ pendingFor: '1s', processingFor: '365d' })
    assert.throws(() => declare({ pendingFor: '0s' }), /janitor\.pendingFor: got 0ms/)
    assert.throws(() => declare({ stuckFor: '1h' }), /janitor\.stuckFor: got an unknown option/)
    assert.throws(() => declare('1h'), /janitor: got '1h'/)
  })
})
