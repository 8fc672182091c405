import assert from 'node:assert/strict'
import fc from 'fast-check'
import { describe, test } from 'vitest'
import { MillraceError } from '../core/millrace-error.ts'
import { encodeMessage } from './encode-message.ts'

const circular: Record<string, unknown> = {}
circular['self'] = { circular }

const deep = (): unknown => {
  let value: unknown = 1
  for (let depth = 0; depth < 100_000; depth += 1) value = [value]
  return value
}

describe('a message in JSON', () => {
  test('means the same when it is read again', () => {
    const values = fc.jsonValue({ stringUnit: 'grapheme' })
    fc.assert(
      fc.property(values, (value) => {
        assert.equal(encodeMessage(value), JSON.stringify(value))
      }),
    )
  })

  test('leaves out properties that are undefined, and asks toJSON', () => {
    const at = new Date(0)
    assert.equal(encodeMessage({ a: undefined, at }), '{"at":"1970-01-01T00:00:00.000Z"}')
  })

  test('may hold one object twice', () => {
    const shared = { a: 1 }
    assert.equal(encodeMessage([shared, { shared }]), '[{"a":1},{"shared":{"a":1}}]')
  })

  test('takes text of every language', () => {
    assert.equal(encodeMessage('größe 漢字 👍'), '"größe 漢字 👍"')
  })
})

describe('a value that JSON would change or cannot hold is refused', () => {
  test.each<[string, () => unknown, string]>([
    ['undefined', () => undefined, 'message: got nothing'],
    ['a function', () => () => 1, 'message: got a function'],
    ['a symbol', () => Symbol('x'), 'message: got a symbol'],
    ['a BigInt', () => ({ a: [1n] }), 'message.a[0]: got a bigint'],
    ['a function inside', () => ({ a: { run() {} } }), 'message.a.run: got a function'],
    ['NaN', () => ({ a: Number.NaN }), 'message.a: got a number that is not finite'],
    ['Infinity', () => [Number.POSITIVE_INFINITY], 'message[0]: got a number that is not finite'],
    ['a hole in an array', () => ({ a: [1, undefined] }), 'message.a[1]: got nothing'],
    ['a real hole in an array', () => new Array(2), 'message[0]: got nothing'],
    ['a Map', () => ({ a: new Map() }), 'message.a: got a Map or a Set'],
    ['a Set', () => new Set([1]), 'message: got a Map or a Set'],
    ['a NUL character', () => ({ a: ['\0'] }), 'message.a[0]: got text with such characters'],
    ['a lone surrogate', () => '\ud800', 'message: got text with such characters'],
    ['a lone surrogate in a key', () => ({ '\udc00': 1 }), 'got a key with such characters'],
    ['a circle', () => circular, 'message: got an object'],
    ['endless nesting', deep, 'message: got an array'],
    [
      'a toJSON that fails',
      () => ({
        toJSON() {
          throw new Error('pa55word')
        },
      }),
      'message: got an object',
    ],
  ])('%s', (_what, make, complaint) => {
    assert.throws(
      () => encodeMessage(make()),
      (error) =>
        error instanceof MillraceError &&
        error.code === 'invalid_message' &&
        error.message.includes(complaint) &&
        !error.message.includes('pa55word'),
    )
  })
})
