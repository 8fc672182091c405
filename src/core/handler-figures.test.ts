import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { durationBounds, durationBucket, durationBuckets } from './duration-buckets.ts'
import { addHandlers, handlerFigures, handlersSince, noHandlers } from './handler-figures.ts'

describe('buckets of durations', () => {
  test('have the bounds that OpenTelemetry gives for messaging, and more above', () => {
    const messaging = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
    assert.deepEqual(durationBounds.slice(0, messaging.length), messaging)
    assert.ok(durationBounds.every((bound, index) => bound > (durationBounds[index - 1] ?? 0)))
  })

  test('hold what is at most as long as their bound', () => {
    assert.equal(durationBucket(0), 0)
    assert.equal(durationBucket(5), 0)
    assert.equal(durationBucket(5.001), 1)
    assert.equal(durationBucket(3_600_000), durationBuckets - 2)
    assert.equal(durationBucket(3_600_001), durationBuckets - 1)
  })
})

function ran(msSum: number, msMax: number) {
  const buckets = Array.from({ length: durationBuckets }, (_, index) => (index === 5 ? 1 : 0))
  return { count: 1, msSum, msMax, buckets }
}

describe('figures of handlers', () => {
  test('count every end, and errors among them', () => {
    const { ended, failed } = handlerFigures({
      ...{ completed: 1, retried: 2, failed: 4, released: 8, cancelled: 16, lost: 32, refused: 64 },
    })
    assert.deepEqual([ended, failed], [127, 2 + 4 + 32 + 64])
  })

  test('add up, and what was added can be told from what was there', () => {
    const before = handlerFigures({ completed: 2 }, ran(100, 100), ran(7, 7))
    const added = handlerFigures({ retried: 1 }, ran(80, 80))
    const after = addHandlers(before, added)
    assert.deepEqual([after.ended, after.failed, after.runs.msSum], [3, 1, 180])
    assert.equal(after.runs.msMax, 100)
    const since = handlersSince(after, before)
    assert.deepEqual(since.endings, added.endings)
    assert.deepEqual([since.runs.count, since.runs.msSum, since.waits.count], [1, 80, 0])
    assert.deepEqual(addHandlers(noHandlers, before), before)
  })
})
