import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { formatDuration } from './durations.ts'
import { deduplicationWindowMs, describeRange, leaseMsMax, limits } from './limits.ts'

describe('the limits', () => {
  test.each(Object.entries(limits))('of %s form a range', (_name, { min, max, unit }) => {
    assert.ok(Number.isSafeInteger(min) && Number.isSafeInteger(max))
    assert.ok(min >= 0 && min < max)
    assert.notEqual(unit, '')
  })

  test('are those of SQS where SQS has them', () => {
    const { visibilityMs, delayMs, retentionMs, receiveWaitMs, messageBytesMax } = limits
    assert.equal(formatDuration(visibilityMs.max), '12h')
    assert.equal(formatDuration(delayMs.max), '15m')
    assert.deepEqual([retentionMs.min, retentionMs.max].map(formatDuration), ['1m', '14d'])
    assert.equal(formatDuration(receiveWaitMs.max), '20s')
    assert.deepEqual([messageBytesMax.min, messageBytesMax.max], [2 ** 10, 2 ** 20])
    assert.equal(formatDuration(deduplicationWindowMs), '5m')
    assert.equal(formatDuration(leaseMsMax), '12h')
  })

  test('are described with their unit', () => {
    assert.equal(describeRange(limits.maxReceives), '1 to 1000 receives')
  })
})
