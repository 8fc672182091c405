import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { byteSize } from './byte-size.ts'

describe('a size in bytes', () => {
  test.each([
    [0, '0 kB'],
    [1, '1 kB'],
    [532_480, '520 kB'],
    [10 * 2 ** 20 - 1, '10240 kB'],
    [10 * 2 ** 20, '10 MB'],
    [309_000_000, '295 MB'],
    [30 * 2 ** 30, '30 GB'],
  ])('%d is shown in the largest unit that has two digits: %s', (bytes, shown) => {
    assert.equal(byteSize(bytes), shown)
  })
})
