import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { canonicalJson } from './canonical-json.ts'

describe('canonical JSON', () => {
  test('puts keys in order at every depth, and leaves arrays as they are', () => {
    const text = '{ "b": [ { "z": 1, "a": null }, 2 ], "a": true, "": "x" }'
    assert.equal(canonicalJson(text), '{"":"x","a":true,"b":[{"a":null,"z":1},2]}')
  })

  test('puts keys in order in whichever order they came', () => {
    const keys = ['a', 'b', 'c', 'd']
    const write = (some: readonly string[]): string =>
      JSON.stringify(Object.fromEntries(some.map((key) => [key, 1])))
    const shuffled = [keys, keys.toReversed(), ['c', 'a', 'd', 'b']]
    assert.equal(new Set(shuffled.map((some) => canonicalJson(write(some)))).size, 1)
  })

  test('writes numbers and strings in one form', () => {
    assert.equal(canonicalJson('[1.0, 1e2, -0.5, "\\u0041\\n"]'), '[1,100,-0.5,"A\\n"]')
  })

  test('keeps keys that mean something to objects', () => {
    const [one, other] = ['{"__proto__":{"a":1}}', '{"__proto__":{"a":2}}'].map(canonicalJson)
    assert.equal(one, '{"__proto__":{"a":1}}')
    assert.notEqual(one, other)
  })

  test('leaves alone what is not JSON, and what is too deep to look through', () => {
    assert.equal(canonicalJson('b, a'), 'b, a')
    const deep = `${'[ '.repeat(100_000)}${']'.repeat(100_000)}`
    assert.equal(canonicalJson(deep), deep)
  })
})
