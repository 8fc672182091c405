import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { type ErrorCode, errorCodes } from '../../core/error-codes.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import { problemFrom } from './api-problem.ts'
import { problemOf, problems } from './problems.ts'

const codes = Object.keys(errorCodes) as ErrorCode[]

describe('the problems of the API', () => {
  test('have a place for every error of Millrace, and for no other', () => {
    assert.deepEqual(Object.keys(problemOf).sort(), [...codes].sort())
  })

  test.each(codes)('stand for %s with a status that fits whether to try again', (code) => {
    const kind = problems[problemFrom(new MillraceError(code)).code]
    if (kind.status === 503) assert.ok(kind.retryAfterS)
    if (errorCodes[code].retryable) assert.equal(kind.status, 503)
  })

  test('name nothing of the inside', () => {
    // Operators read the first, and workers the second.
    const { no_app, lease_ended, ...others } = problems
    assert.deepEqual([no_app.status, lease_ended.status], [404, 409])
    assert.doesNotMatch(JSON.stringify(Object.entries(others).map(([, kind]) => kind)), inside)
  })

  test('say nothing about an error that is not ours', () => {
    for (const error of [new Error('secret'), 'secret', undefined, { code: 'store_busy' }]) {
      assert.equal(problemFrom(error).code, 'internal')
      assert.ok(!JSON.stringify(problemFrom(error)).includes('secret'))
    }
  })

  test('name the refused fields as the API does, and never what was given', () => {
    const error = MillraceError.invalid([
      { field: 'idempotencyKey', given: "'secret'", allowed: 'a shorter one' },
      { field: 'payload.a', given: 'a number', allowed: 'string' },
    ])
    assert.deepEqual(problemFrom(error).errors, [
      { field: 'idempotency_key', expected: 'a shorter one' },
      { field: 'payload.a', expected: 'string' },
    ])
  })
})

const inside = /queue|store\b|sqlite|worker|stack|lease|backend/i
