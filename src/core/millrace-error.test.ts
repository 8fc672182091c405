import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { type ErrorCode, errorCodes } from './error-codes.ts'
import { MillraceError } from './millrace-error.ts'

describe('the registry of error codes', () => {
  test.each(Object.entries(errorCodes))('has a code and a sentence for %s', (code, entry) => {
    assert.match(code, /^[a-z]+(_[a-z]+)*$/)
    assert.match(entry.message, /^[A-Z].*\.$/)
    assert.equal(typeof entry.retryable, 'boolean')
  })

  test('has no two codes with one text', () => {
    const texts = Object.values(errorCodes).map(({ message }) => message)
    assert.equal(new Set(texts).size, texts.length)
  })
})

describe('an error', () => {
  test.each(Object.keys(errorCodes) as ErrorCode[])(
    '%s takes its text from the registry',
    (code) => {
      const error = new MillraceError(code)
      assert.ok(error instanceof Error)
      assert.equal(error.name, 'MillraceError')
      assert.equal(error.code, code)
      assert.equal(error.message, errorCodes[code].message)
      assert.equal(error.retryable, errorCodes[code].retryable)
      assert.deepEqual(error.violations, [])
    },
  )

  test('may have a text and a cause of its own', () => {
    const cause = new Error('EACCES')
    const error = new MillraceError('store_unusable', { message: 'No entry.', cause })
    assert.equal(error.message, 'No entry.')
    assert.equal(error.cause, cause)
  })

  test('has no cause unless one was given', () => {
    assert.equal('cause' in new MillraceError('store_full'), false)
  })
})

describe('an error about arguments', () => {
  const violations = [
    { field: 'max', given: '0', allowed: '1 to 10' },
    { field: 'wait', given: "'x'", allowed: 'a duration' },
  ]

  test('names every field in one text', () => {
    const error = MillraceError.invalid(violations)
    assert.equal(error.code, 'invalid_argument')
    assert.equal(error.message, "max: got 0, expected 1 to 10\nwait: got 'x', expected a duration")
    assert.deepEqual(error.violations, violations)
  })

  test('takes another code', () => {
    assert.equal(MillraceError.invalid(violations, 'invalid_contract').code, 'invalid_contract')
  })
})
