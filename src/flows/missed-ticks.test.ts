import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { assertTimesAsLong } from '../../test/support/processor-time.ts'
import type { MissedTicks } from '../contracts/schedule-declaration.ts'
import { ruleOf } from '../contracts/schedule-rule.ts'
import { chooseTick as choose, type DueTick, type TickChoice } from './missed-ticks.ts'

const minute = 60_000
const rule = ruleOf({ every: '1m' })
const everySecond = ruleOf({ every: '1s' })

/** No tick was made before, unless a test says so. */
const chooseTick = (tick: Omit<DueTick, 'lastAt'> & Partial<DueTick>): TickChoice =>
  choose({ lastAt: null, ...tick })

describe('a tick that is made in time', () => {
  test.each(['skip', 'once', 'all'] as const)('is the one that was due (%s)', (missed) => {
    const choice = chooseTick({ rule, missed, dueAt: 10 * minute, now: 10 * minute + 900 })
    assert.deepEqual(choice, { at: 10 * minute, nextAt: 11 * minute, skipped: 0 })
  })
})

describe('missed ticks', () => {
  const due = { rule, dueAt: 10 * minute, now: 15 * minute + 100 }

  test('are made up for once, by the latest', () => {
    const choice: TickChoice = { at: 15 * minute, nextAt: 16 * minute, skipped: 5 }
    assert.deepEqual(chooseTick({ ...due, missed: 'once' }), choice)
  })

  test('are skipped but for the latest, which is in time', () => {
    const choice: TickChoice = { at: 15 * minute, nextAt: 16 * minute, skipped: 5 }
    assert.deepEqual(chooseTick({ ...due, missed: 'skip' }), choice)
  })

  test('are made one after the other', () => {
    const made: number[] = []
    let dueAt = due.dueAt
    while (dueAt <= due.now) {
      const { at, nextAt, skipped } = chooseTick({ ...due, dueAt, missed: 'all' })
      assert.equal(skipped, 0)
      made.push((at ?? 0) / minute)
      dueAt = nextAt ?? Number.POSITIVE_INFINITY
    }
    assert.deepEqual(made, [10, 11, 12, 13, 14, 15])
  })

  test('are skipped altogether when the latest is more than a minute late', () => {
    const hourly = ruleOf({ every: '1h' })
    const dueAt = 60 * minute
    const late = { rule: hourly, missed: 'skip', dueAt } as const
    assert.equal(chooseTick({ ...late, now: dueAt + minute }).at, dueAt)
    assert.deepEqual(chooseTick({ ...late, now: dueAt + minute + 1 }), {
      at: null,
      nextAt: 120 * minute,
      skipped: 1,
    })
  })

  test.each([
    ['an interval', everySecond],
    ['a cron expression', ruleOf({ cron: '* * * * * *', timezone: 'Europe/Berlin' })],
  ])('of a whole year are not gone through one by one: %s', async (_what, each) => {
    const hour = 60 * minute
    const now = 365 * 24 * hour
    const chosen = (missed: MissedTicks, dueAt: number): TickChoice =>
      chooseTick({ rule: each, missed, dueAt, now })
    const first = { at: now - 99_000, nextAt: now - 98_000, skipped: 100 }
    assert.deepEqual(chosen('all', 1_000), first)
    assert.deepEqual(chosen('once', 1_000), { at: now, nextAt: now + 1_000, skipped: 100 })
    await assertTimesAsLong({
      work: () => chosen('all', 1_000),
      reference: () => chosen('all', now - hour),
      timesMax: 5,
    })
  })
})

describe('a tick that was made while the clock was ahead', () => {
  const lastAt = 20 * minute

  test('is not made again when its moment comes, nor is anything before it made up for', () => {
    for (const missed of ['skip', 'once', 'all'] as const) {
      const choice = { at: null, nextAt: 21 * minute, skipped: 0 }
      for (const dueAt of [15 * minute, lastAt]) {
        const now = lastAt + 10
        assert.deepEqual(chooseTick({ rule, missed, dueAt, lastAt, now }), choice)
      }
    }
  })

  test('does not keep the ticks before it from being made in time', () => {
    const choice = chooseTick({
      rule,
      missed: 'once',
      dueAt: 15 * minute,
      lastAt,
      now: 15 * minute,
    })
    assert.deepEqual(choice, { at: 15 * minute, nextAt: 16 * minute, skipped: 0 })
  })
})
