import assert from 'node:assert/strict'
import { test } from 'vitest'
import { counted } from './counted.ts'

test.each([
  [0, '0 queues'],
  [1, '1 queue'],
  [2, '2 queues'],
])('%d is written as %s', (count, text) => {
  assert.equal(counted(count, 'queue'), text)
})
