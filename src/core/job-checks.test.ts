import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { type BackoffPolicy, checkBackoffPolicy } from './backoff.ts'
import type { Violations } from './checks.ts'
import { checkJobLabels, type JobLabels } from './job-labels.ts'

function refusedLabels(labels: object): string[] {
  const violations: Violations = []
  // Labels come from callers, who may pass anything.
  checkJobLabels(violations, 'job.', labels as JobLabels)
  return violations.map(({ field }) => field)
}

function refusedFields(changes: object): string[] {
  const violations: Violations = []
  const policy: BackoffPolicy = { fromMs: 0, factor: 1, maxMs: 43_200_000, jitter: 1, ...changes }
  checkBackoffPolicy(violations, 'backoff', policy)
  return violations.map(({ field }) => field)
}

describe('the labels of a job', () => {
  test('may be left out, or be as long as the limits say', () => {
    assert.deepEqual(refusedLabels({}), [])
    const longest = 'x'.repeat(256)
    const tags = Array.from({ length: 20 }, () => longest)
    assert.deepEqual(refusedLabels({ tier: longest, traceId: longest, tags }), [])
  })

  test('are refused when they are empty, too long, or no proper text', () => {
    const labels = { tier: '', traceId: 'x'.repeat(257), tags: ['ok', 'a\0b', '\ud800', 7] }
    assert.deepEqual(refusedLabels(labels), [
      ...['job.tier', 'job.traceId'],
      ...['job.tags[1]', 'job.tags[2]', 'job.tags[3]'],
    ])
  })

  test('are an array of at most twenty tags', () => {
    assert.deepEqual(refusedLabels({ tags: Array.from({ length: 21 }, () => 'x') }), ['job.tags'])
    assert.deepEqual(refusedLabels({ tags: 'x' }), ['job.tags'])
  })
})

describe('the backoff of a job', () => {
  test('is accepted up to its limits', () => {
    assert.deepEqual(refusedFields({}), [])
    assert.deepEqual(refusedFields({ fromMs: 43_200_000, factor: 10, jitter: 0 }), [])
  })

  test('is refused field by field', () => {
    assert.deepEqual(refusedFields({ fromMs: -1 }), ['backoff.fromMs'])
    assert.deepEqual(refusedFields({ factor: 0.9 }), ['backoff.factor'])
    assert.deepEqual(refusedFields({ factor: 10.1 }), ['backoff.factor'])
    assert.deepEqual(refusedFields({ maxMs: 43_200_001 }), ['backoff.maxMs'])
    assert.deepEqual(refusedFields({ jitter: Number.NaN }), ['backoff.jitter'])
    assert.deepEqual(refusedFields({ jitter: '0' }), ['backoff.jitter'])
  })

  test('does not end before it begins', () => {
    assert.deepEqual(refusedFields({ fromMs: 2_000, maxMs: 1_000 }), ['backoff.maxMs'])
  })
})
