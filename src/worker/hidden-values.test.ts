import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { hiddenValues } from './hidden-values.ts'

const payload = {
  email: 'anna@example.com',
  user: { token: 'tok-123', age: 7, keys: ['key-1', 'key-2'] },
  cards: [{ number: 4_111_222 }, { number: 5_333_444 }, {}],
  note: 'two\nlines',
  flag: true,
}

describe('hidden values', () => {
  test.each([
    [['email'], ['anna@example.com']],
    [['user.token'], ['tok-123']],
    [['cards.number'], ['4111222', '5333444']],
    [['user.keys'], ['key-1', 'key-2']],
    // Everything below a path is meant, and what is too short to be found in a text is left.
    [['user'], ['tok-123', 'key-1', 'key-2']],
    [['flag'], ['true']],
    [['note'], ['two\nlines', 'two\\nlines']],
    [
      ['email', 'user.token'],
      ['anna@example.com', 'tok-123'],
    ],
    [
      ['missing', 'email.deeper', 'user.missing', 'user.token.x', 'constructor', 'toString.name'],
      [],
    ],
    [[], []],
  ])('at %j are %j', (paths, values) => {
    assert.deepEqual(hiddenValues(payload, paths), values)
  })

  test.each([undefined, null, 'text', 5, []])('are none in %j', (value) => {
    assert.deepEqual(hiddenValues(value, ['email']), [])
  })
})
