import assert from 'node:assert/strict'
import fc from 'fast-check'
import { describe, test } from 'vitest'
import { type Duration, describeDuration, durationMs, formatDuration } from './durations.ts'
import { limits } from './limits.ts'
import { MillraceError } from './millrace-error.ts'

describe('a duration', () => {
  test.each<[Duration, number]>([
    ['0s', 0],
    ['250ms', 250],
    ['30s', 30_000],
    ['1.5s', 1_500],
    ['6m', 360_000],
    ['12h', 43_200_000],
    ['14d', 1_209_600_000],
    ['1h30m', 5_400_000],
    [{ ms: 250 }, 250],
    [{ seconds: 30 }, 30_000],
    [{ seconds: 0.25 }, 250],
  ])('%j is %d milliseconds', (duration, ms) => {
    assert.equal(durationMs(duration), ms)
  })

  test('may have spaces around it', () => {
    assert.equal(durationMs(' 5m ' as Duration), 300_000)
  })

  test.each([
    '',
    '5',
    'm',
    'soon',
    '5 m',
    '5m!',
    '-5m',
    '0.5ms',
    '999999999999999d',
    { ms: -1 },
    { ms: 1.5 },
    { ms: Number.NaN },
    { ms: '5' },
    { seconds: '5' },
    { minutes: 5 },
    300,
    null,
    undefined,
  ])('is not %j', (given) => {
    assert.throws(
      () => durationMs(given as Duration, 'visibility'),
      (error) =>
        error instanceof MillraceError &&
        error.code === 'invalid_argument' &&
        error.violations[0]?.field === 'visibility' &&
        error.message.startsWith('visibility: got '),
    )
  })

  test('with a fraction is exact where a person would call it exact', () => {
    const written: Duration[] = ['1.1d', '2.3h', '4.35m', '1.005s']
    assert.deepEqual(
      written.map((text) => durationMs(text)),
      [95_040_000, 8_280_000, 261_000, 1_005],
    )
  })

  test('that is refused is quoted, but not at any length', () => {
    assert.throws(() => durationMs('x'.repeat(500) as Duration), {
      message: /^duration: got 'x{40}…' \(500 characters\), expected a duration such as/,
    })
  })
})

describe('describing a limit', () => {
  test.each([
    [0, '0s'],
    [43_200_000, '12h'],
    [limits.switchMs.max, '366d'],
    [limits.messageDelayMs.max, '10 years'],
    [limits.finishedJobMs.max, '10 years'],
    [limits.scheduleUntilMs.max, '10 years'],
    [4_000 * 86_400_000, '4000d'],
  ])('of %i ms as a person says it', (ms, expected) => {
    assert.equal(describeDuration(ms), expected)
  })

  test('in the error of a duration out of its range', () => {
    assert.throws(() => durationMs('4000d', 'delay', limits.messageDelayMs), {
      message: 'delay: got 4000d, expected a duration, 0s to 10 years',
    })
  })
})

describe('formatting a duration', () => {
  test('uses the largest unit that is exact', () => {
    const formatted = [0, 250, 1_000, 90_000, 360_000, 43_200_000, 345_600_000].map(formatDuration)
    assert.deepEqual(formatted, ['0s', '250ms', '1s', '90s', '6m', '12h', '4d'])
  })

  test('gives a text that means the same', () => {
    fc.assert(
      fc.property(fc.nat({ max: 2 ** 31 }), (ms) => {
        assert.equal(durationMs(formatDuration(ms) as Duration), ms)
      }),
    )
  })
})
