import assert from 'node:assert/strict'
import fc from 'fast-check'
import { describe, test } from 'vitest'
import { ruleFromText, ruleOf, type ScheduleRule } from './schedule-rule.ts'

const at = (text: string): number => Date.parse(text)

/** Ticks after a moment, as they are written in UTC. */
function ticks(rule: ScheduleRule, after: string, count: number): readonly string[] {
  const found: string[] = []
  let from = at(after)
  for (let index = 0; index < count; index += 1) {
    const next = rule.nextAfter(from)
    if (next === null) break
    found.push(new Date(next).toISOString().replace(':00.000Z', ''))
    from = next
  }
  return found
}

describe('an interval', () => {
  test('ticks at whole multiples since 1970, whenever it is asked', () => {
    const rule = ruleOf({ every: '15m' })
    assert.deepEqual(ticks(rule, '2026-05-01T09:07:11.123Z', 3), [
      '2026-05-01T09:15',
      '2026-05-01T09:30',
      '2026-05-01T09:45',
    ])
  })

  test('answers the tick after a tick, not the tick itself', () => {
    assert.equal(ruleOf({ every: '1s' }).nextAfter(5_000), 6_000)
  })

  test('knows the latest ticks, and none from before 1970', () => {
    const rule = ruleOf({ every: '1h' })
    assert.deepEqual(rule.latest(7_200_000, 2), [3_600_000, 7_200_000])
    assert.deepEqual(rule.latest(3_700_000, 5), [0, 3_600_000])
  })
})

describe('a cron rule', () => {
  test('takes five fields, or six with seconds first', () => {
    assert.deepEqual(ticks(ruleOf({ cron: '30 9 * * 1-5' }), '2026-05-01T09:30:00Z', 2), [
      '2026-05-04T09:30',
      '2026-05-05T09:30',
    ])
    assert.equal(ruleOf({ cron: '*/20 * * * * *' }).nextAfter(20_000), 40_000)
  })

  test('knows the latest ticks, the present one included', () => {
    const rule = ruleOf({ cron: '0 * * * *' })
    const expected = [at('2026-05-01T09:00:00Z'), at('2026-05-01T10:00:00Z')]
    assert.deepEqual(rule.latest(at('2026-05-01T10:00:00.400Z'), 2), expected)
    assert.deepEqual(rule.latest(at('2026-05-01T10:00:00Z'), 2), expected)
  })

  test('refuses ?, which would mean another moment in each process', () => {
    assert.throws(() => ruleOf({ cron: '? * * * *' }), TypeError)
  })

  test('can be made again from its text', () => {
    for (const options of [
      { cron: '  0 9  * * 1-5 ', timezone: 'Europe/Berlin' },
      { cron: '*/5 * * * * *' },
      { every: '1h30m' },
      { every: { ms: 1_500 } },
    ] as const) {
      const rule = ruleOf(options)
      const again = ruleFromText(rule.text)
      assert.equal(again.text, rule.text)
      assert.equal(again.nextAfter(1e12), rule.nextAfter(1e12))
    }
    assert.equal(ruleOf({ cron: ' 0 9  * * 1', timezone: 'UTC' }).text, 'cron 0 9 * * 1 in UTC')
    assert.throws(() => ruleFromText('now and then'))
  })
})

/** Begin and end of summer time in 2026: some hours before the change. */
const zones = {
  'Europe/Berlin': { forward: '2026-03-28T12:00:00Z', back: '2026-10-24T12:00:00Z' },
  'America/New_York': { forward: '2026-03-07T12:00:00Z', back: '2026-10-31T12:00:00Z' },
  // Half an hour, and on the other half of the globe.
  'Australia/Lord_Howe': { forward: '2026-10-03T02:00:00Z', back: '2026-04-04T02:00:00Z' },
} as const

type Zone = keyof typeof zones

function around(timezone: Zone, change: 'forward' | 'back', cron: string): readonly string[] {
  return ticks(ruleOf({ cron, timezone }), zones[timezone][change], 3)
}

describe('one time a day, when clocks are changed', () => {
  test.each<[Zone, string, readonly string[]]>([
    ['Europe/Berlin', '30 2 * * *', ['2026-03-29T01:00', '2026-03-30T00:30', '2026-03-31T00:30']],
    [
      'America/New_York',
      '30 2 * * *',
      ['2026-03-08T07:00', '2026-03-09T06:30', '2026-03-10T06:30'],
    ],
    [
      'Australia/Lord_Howe',
      '15 2 * * *',
      ['2026-10-03T15:30', '2026-10-04T15:15', '2026-10-05T15:15'],
    ],
  ])('in %s a time that is left out ticks once, when the gap ends', (timezone, cron, expected) => {
    assert.deepEqual(around(timezone, 'forward', cron), expected)
  })

  test.each<[Zone, string, readonly string[]]>([
    ['Europe/Berlin', '30 2 * * *', ['2026-10-25T00:30', '2026-10-26T01:30', '2026-10-27T01:30']],
    [
      'America/New_York',
      '30 1 * * *',
      ['2026-11-01T05:30', '2026-11-02T06:30', '2026-11-03T06:30'],
    ],
    [
      'Australia/Lord_Howe',
      '45 1 * * *',
      ['2026-04-04T14:45', '2026-04-05T15:15', '2026-04-06T15:15'],
    ],
  ])('in %s a time that comes twice ticks once, the first time', (timezone, cron, expected) => {
    assert.deepEqual(around(timezone, 'back', cron), expected)
  })
})

describe('many times a day, when clocks are changed', () => {
  const zoneNames = Object.keys(zones) as Zone[]

  test.each(zoneNames)('in %s every half hour stays every half hour', (timezone) => {
    for (const change of ['forward', 'back'] as const) {
      const rule = ruleOf({ cron: '*/30 * * * *', timezone })
      let last = at(zones[timezone][change])
      for (let index = 0; index < 96; index += 1) {
        const next = rule.nextAfter(last)
        assert.equal(next, last + 1_800_000)
        last = next
      }
    }
  })

  test('several given times: those left out are left out, those that come twice tick twice', () => {
    const rule = ruleOf({ cron: '0,30 2 * * *', timezone: 'Europe/Berlin' })
    assert.deepEqual(ticks(rule, '2026-03-28T12:00:00Z', 2), [
      '2026-03-30T00:00',
      '2026-03-30T00:30',
    ])
    assert.deepEqual(ticks(rule, '2026-10-24T12:00:00Z', 5), [
      '2026-10-25T00:00',
      '2026-10-25T00:30',
      '2026-10-25T01:00',
      '2026-10-25T01:30',
      '2026-10-26T01:00',
    ])
  })
})

describe('any rule, in any timezone, around a change of the clocks', () => {
  const field = (min: number, max: number): fc.Arbitrary<string> =>
    fc.oneof(
      fc.constant('*'),
      fc.integer({ min, max }).map(String),
      fc.integer({ min: 2, max: Math.min(15, max - min) }).map((step) => `*/${step}`),
      fc
        .tuple(fc.integer({ min, max }), fc.integer({ min, max }))
        .map(([one, other]) => `${Math.min(one, other)}-${Math.max(one, other)}`),
    )
  const cron = fc
    .tuple(field(0, 59), field(0, 23), field(1, 28), field(0, 6))
    .map(([minute, hour, day, weekday]) => `${minute} ${hour} ${day} * ${weekday}`)

  test('goes forward, and looks back at the very ticks that it gave', () => {
    fc.assert(
      fc.property(
        cron,
        fc.constantFrom(...(Object.keys(zones) as Zone[])),
        fc.constantFrom('forward' as const, 'back' as const),
        fc.integer({ min: -43_200, max: 43_200 }),
        (text, timezone, change, seconds) => {
          const rule = ruleOf({ cron: text, timezone })
          const from = at(zones[timezone][change]) + seconds * 1_000
          const given: number[] = []
          for (let last = from; given.length < 4; ) {
            const next = rule.nextAfter(last)
            assert.ok(next !== null && next > last)
            given.push(next)
            last = next
          }
          assert.deepEqual(rule.latest(given.at(-1) ?? 0, 4), given)
        },
      ),
      { numRuns: 300 },
    )
  })
})
