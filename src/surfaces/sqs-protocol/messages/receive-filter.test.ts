import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { systemAttributeNames } from '../../../sqs/system-attributes.ts'
import { attributeFilter, wantedSystemAttributes } from './receive-filter.ts'

const attributes = {
  'Help.Me': { type: 'String', value: 'Me' },
  Hello: { type: 'String', value: 'There' },
  General: { type: 'String', value: 'Kenobi' },
}

describe('filters of message attributes', () => {
  test.each([
    [['All'], ['Help.Me', 'Hello', 'General']],
    [['*'], ['Help.Me', 'Hello', 'General']],
    [['.*'], ['Help.Me', 'Hello', 'General']],
    [['Foo', 'Help'], []],
    [
      ['Hello', 'General'],
      ['Hello', 'General'],
    ],
    [['Foo', 'Hello'], ['Hello']],
    [['Hel.*'], ['Help.Me', 'Hello']],
    [['Help.*'], ['Help.Me']],
    [['hello'], []],
    [['AWS.'], []],
    [['..foo'], []],
  ])('%j lets %j through', (names, expected) => {
    assert.deepEqual(Object.keys(attributeFilter(names)?.(attributes) ?? {}), expected)
  })

  test('who asks for none gets none', () => {
    assert.equal(attributeFilter(undefined), undefined)
    assert.equal(attributeFilter([]), undefined)
  })
})

describe('names of system attributes', () => {
  test('both parameters count, and All in one of them is all', () => {
    assert.deepEqual(wantedSystemAttributes(['SenderId'], ['SentTimestamp']), [
      'SenderId',
      'SentTimestamp',
    ])
    assert.equal(wantedSystemAttributes(['SenderId'], ['All']), systemAttributeNames)
  })

  test('names that are none of theirs are passed over', () => {
    assert.deepEqual(wantedSystemAttributes(['Policy', 'SenderId', 'constructor'], undefined), [
      'SenderId',
    ])
  })

  test('who asks for none gets none', () => {
    assert.equal(wantedSystemAttributes(undefined, []), undefined)
  })
})
