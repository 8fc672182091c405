import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { type BackoffPolicy, backoffMs, defaultBackoff } from './backoff.ts'

const policy: BackoffPolicy = { fromMs: 1_000, factor: 2, maxMs: 10_000, jitter: 0 }

describe('the wait between attempts', () => {
  test('grows by the factor with each attempt, up to the longest wait', () => {
    const waits = [1, 2, 3, 4, 5, 6].map((attempt) => backoffMs(policy, attempt, 0.5))
    assert.deepEqual(waits, [1_000, 2_000, 4_000, 8_000, 10_000, 10_000])
  })

  test('is always the same with a factor of 1, and never more than the longest', () => {
    assert.equal(backoffMs({ ...policy, factor: 1 }, 50, 0.5), 1_000)
    assert.equal(backoffMs({ ...policy, fromMs: 60_000 }, 1, 0.5), 10_000)
    assert.equal(backoffMs(policy, 1_000, 0.5), 10_000)
  })

  test('leaves to chance as much as the jitter says, and never exceeds the full wait', () => {
    const jitter = (part: number, chance: number): number =>
      backoffMs({ ...policy, jitter: part }, 1, chance)
    assert.deepEqual([jitter(0.2, 0), jitter(0.2, 0.5), jitter(0.2, 1)], [800, 900, 1_000])
    assert.deepEqual([jitter(1, 0), jitter(1, 0.25)], [0, 250])
  })

  test('is a whole number of milliseconds', () => {
    assert.equal(backoffMs({ ...policy, fromMs: 3, factor: 1.5 }, 2, 0), 5)
  })

  test('is five seconds after the first attempt by default', () => {
    assert.equal(backoffMs(defaultBackoff, 1, 1), 5_000)
    assert.equal(backoffMs(defaultBackoff, 100, 1), 3_600_000)
  })
})
