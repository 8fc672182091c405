import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { slicesOf } from './slices-of.ts'

describe('slices', () => {
  test.each([
    [[], 2, [[]]],
    [[1], 2, [[1]]],
    [[1, 2], 2, [[1, 2]]],
    [[1, 2, 3], 2, [[1, 2], [3]]],
    [
      [1, 2, 3, 4],
      2,
      [
        [1, 2],
        [3, 4],
      ],
    ],
  ])('of %j, %i at a time, are %j', (items, size, slices) => {
    assert.deepEqual(slicesOf(items, size), slices)
  })
})
