import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import {
  deadLetter,
  isOutcome,
  release,
  retryIn,
  UnrecoverableError,
} from '../contracts/handler-outcome.ts'
import { AbortReason } from './abort-reason.ts'

describe('an outcome', () => {
  test('is told from a result that looks like one', () => {
    for (const outcome of [release(), retryIn('1s'), deadLetter('no')]) {
      assert.equal(isOutcome(outcome), true)
      assert.equal(isOutcome({ ...JSON.parse(JSON.stringify(outcome)), kind: 'release' }), false)
    }
    for (const result of [undefined, null, 'release', 1, {}, []]) {
      assert.equal(isOutcome(result), false)
    }
  })

  test('has a delay that is a duration', () => {
    assert.throws(() => retryIn(5 as never), { code: 'invalid_argument', message: /^delay: got 5/ })
  })
})

describe('the errors of a handler', () => {
  test('are errors, with their names', () => {
    const error = new UnrecoverableError('no such exam', { cause: 'x' })
    assert.ok(error instanceof Error)
    assert.deepEqual(
      [error.name, error.message, error.cause],
      ['UnrecoverableError', 'no such exam', 'x'],
    )
    const reason = new AbortReason('lease_lost')
    assert.deepEqual([reason.name, reason.kind], ['AbortReason', 'lease_lost'])
    assert.match(reason.message, /lost/)
  })
})
