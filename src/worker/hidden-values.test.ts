import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { assertTimesAsLong } from '../../test/support/processor-time.ts'
import { errorSummary } from '../core/error-summary.ts'
import { hiddenInBody, hiddenValues } from './hidden-values.ts'

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
    [['note'], ['two\nlines']],
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

describe('a hidden value', () => {
  const secret = 'hunter2/ü & more!'
  const base64 = (text: string): string => Buffer.from(text).toString('base64')

  test.each([
    ['as it is', secret],
    ['in JSON', JSON.stringify({ key: `${secret}"\n` })],
    ['by encodeURIComponent', encodeURIComponent(secret)],
    ['by encodeURIComponent, with small letters', encodeURIComponent(secret).toLowerCase()],
    ['in a query or a form', new URLSearchParams({ key: secret }).toString()],
    ['in a path, as Python quotes it', 'hunter2/%C3%BC%20%26%20more%21'],
    ['in base64', base64(secret)],
    ['in base64 without padding, for addresses', Buffer.from(secret).toString('base64url')],
    ['in base64 behind one other byte', base64(`:${secret}`)],
    ['in base64 between others', base64(`user:${secret}, and more`)],
  ])('is found %s', (_, text) => {
    const hide = hiddenInBody(JSON.stringify({ secret }), undefined, ['secret'])
    const summary = errorSummary(`cannot send ${text} now`, hide)
    assert.match(summary, /^cannot send .*\[hidden\].* now$/)
    assert.doesNotMatch(summary, /hunter2|more|%C3|aHVudGVyM|h1bnRlcj|odW50ZXIy/i)
  })

  test('is hidden whole in base64, with its padding', () => {
    const hide = hiddenInBody(JSON.stringify({ secret }), undefined, ['secret'])
    assert.equal(errorSummary(`got ${base64(secret)}.`, hide), 'got [hidden].')
  })

  test.each([
    ['ab', 'ab is kept'],
    ['abc', '[hidden] is kept'],
  ])('is found if it has at least three characters: %s', (value, expected) => {
    const hide = hiddenInBody(JSON.stringify({ value }), undefined, ['value'])
    assert.equal(errorSummary(`${value} is kept`, hide), expected)
  })

  test('is looked for in few forms if there are very many', async () => {
    const list = Array.from({ length: 50_000 }, (_, index) => `customer ${index}`)
    const hide = hiddenInBody(JSON.stringify({ list }), { list }, ['list'])
    assert.equal(errorSummary('no customer 49999, customer%203', hide), 'no [hidden], [hidden]')
    assert.ok(hide.length < 100_000, `${hide.length}`)
    const collect = (count: number) => () => {
      const part = list.slice(0, count)
      return hiddenInBody(JSON.stringify({ list: part }), { list: part }, ['list'])
    }
    // By the square of their number it would take 64 times as long.
    await assertTimesAsLong({ work: collect(20_000), reference: collect(2_500), timesMax: 24 })
  })

  test('with half a character does not stop the others', () => {
    const hide = hiddenInBody('{"a":"x\\ud800y","b":"hunter2"}', undefined, ['a', 'b'])
    assert.equal(errorSummary('hunter2', hide), '[hidden]')
  })
})
