import assert from 'node:assert/strict'
import { runInNewContext } from 'node:vm'
import { describe, test } from 'vitest'
import { isError } from './is-error.ts'

describe('an error', () => {
  test('is known by what it is, also with other globals', () => {
    const foreign: unknown = runInNewContext("new TypeError('no')")
    assert.ok(!(foreign instanceof Error))
    assert.ok(isError(foreign))
    assert.ok(isError(new RangeError('no')))
  })

  test.each([undefined, null, 'Error', { name: 'Error', message: 'no' }])(
    'is not a value like %s',
    (value) => {
      assert.ok(!isError(value))
    },
  )
})
