import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { parseCredential } from './credential-scope.ts'
import { SigningKeys } from './signing-keys.ts'

function scope(region: string, accessKeyId = 'AKIDEXAMPLE') {
  const parsed = parseCredential(`${accessKeyId}/20120215/${region}/iam/aws4_request`)
  return parsed ?? assert.fail('the scope has another number of parts')
}

// The example in AWS's own description of the derivation.
const secret = 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY'
const derived = 'f4780e2d9f65fa895f9c67b32ce1baf0b0d8a43505a000a1a9e090d414db404d'

describe('signing keys', () => {
  test('are derived as AWS derives them', () => {
    const key = new SigningKeys('iam').keyFor(scope('us-east-1'), secret)
    assert.equal(key.export().toString('hex'), derived)
  })

  test('are remembered only once they have proved good', () => {
    const keys = new SigningKeys('sqs')
    const tried = keys.keyFor(scope('us-east-1'), secret)
    const good = keys.keyFor(scope('us-east-1'), secret)
    assert.notEqual(good, tried)
    keys.keep(scope('us-east-1'), good)
    assert.equal(keys.keyFor(scope('us-east-1'), secret), good)
    assert.notEqual(keys.keyFor(scope('us-east-2'), secret), good)
    assert.notEqual(keys.keyFor(scope('us-east-1', 'AKIDOTHER'), secret), good)
  })

  test('are forgotten, the oldest first, when there are too many', () => {
    const keys = new SigningKeys('sqs')
    const kept = Array.from({ length: 1_001 }, (_, at) => {
      const key = keys.keyFor(scope(`r-${at}`), secret)
      keys.keep(scope(`r-${at}`), key)
      return key
    })
    assert.notEqual(keys.keyFor(scope('r-0'), secret), kept[0])
    assert.equal(keys.keyFor(scope('r-1'), secret), kept[1])
    assert.equal(keys.keyFor(scope('r-1000'), secret), kept[1_000])
  })
})
