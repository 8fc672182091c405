import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { type ErrorCode, errorCodes } from '../../core/error-codes.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import { AttributeRefusal } from '../../sqs/attribute-refusal.ts'
import { failureOf } from './failure.ts'
import { storeError } from './store-errors.ts'

const codes = Object.keys(errorCodes) as ErrorCode[]

describe('what the store refuses', () => {
  test('has words in SQS, whatever it is', () => {
    for (const code of codes) {
      const { status, message, type } = failureOf(new MillraceError(code))
      assert.ok(status >= 400 && status <= 503, code)
      assert.notEqual(message, '', code)
      assert.match(type, /^com\.amazon(?:aws\.sqs|\.coral\.service)#\w+$/)
    }
  })

  test('is the fault of the server when the store itself has failed', () => {
    for (const code of codes.filter((one) => one.startsWith('store_'))) {
      assert.ok(failureOf(new MillraceError(code)).status >= 500, code)
    }
  })

  test('keeps the words of what is wrong with an argument', () => {
    const error = new MillraceError('invalid_argument', { message: 'limit: got 0' })
    const { kind, message } = storeError(error)
    assert.deepEqual([kind, message], ['InvalidParameterValueException', 'limit: got 0'])
  })

  test('is an error of SQS when it is about an attribute', () => {
    const refusal = new AttributeRefusal('InvalidParameterValue', 'Value x')
    assert.equal(failureOf(refusal).queryCode, 'InvalidParameterValue')
    assert.equal(failureOf(new AttributeRefusal('OverLimit', 'x')).status, 403)
  })

  test('is kept to the log when it is an error of the program', () => {
    const { kind, message } = storeError(new Error('a secret'))
    assert.equal(kind, 'InternalFailure')
    assert.doesNotMatch(message, /secret/)
  })
})
