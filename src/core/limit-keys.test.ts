import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import type { Violations } from './checks.ts'
import { limitValuesIn } from './limit-keys.ts'

function valuesOf(body: string, ...keys: readonly string[]): unknown {
  const ceilings = keys.map((key) => ({ key, running: 1, rate: null }))
  const values = limitValuesIn(body, ceilings)
  return values === null ? null : JSON.parse(values)
}

describe('the values that limits count by', () => {
  test('are texts, numbers and booleans at the paths of the keys, as text', () => {
    const body = '{"customer":{"id":7,"vip":true},"region":"eu","other":1}'
    assert.deepEqual(valuesOf(body, 'customer.id', 'customer.vip', 'region', 'missing'), {
      'customer.id': '7',
      'customer.vip': 'true',
      region: 'eu',
    })
  })

  test.each([
    ['', 'a'],
    ['no json', 'a'],
    ['null', 'a'],
    ['"text"', 'length'],
    ['[1]', 'length'],
    ['[1]', '0'],
    ['{"a":null}', 'a'],
    ['{"a":{"b":null}}', 'a.b'],
    ['{"a":"text"}', 'a.length'],
    ['{}', 'constructor.name'],
    ['{"a":1}', 'a.b'],
  ])('of %s at %s are none', (body, key) => {
    assert.equal(valuesOf(body, key), null)
  })

  test('that cannot count are reported without what they are', () => {
    const refused: Violations = []
    const body = JSON.stringify({ a: ['secret'], b: { c: { d: 1 } }, e: 'x'.repeat(129), f: 1 })
    const ceilings = ['a', 'b.c', 'e', 'f'].map((key) => ({ key, running: 1, rate: null }))
    assert.equal(limitValuesIn(body, ceilings, refused), '{"f":"1"}')
    assert.deepEqual(
      refused.map(({ field, given }) => [field, given]),
      [
        ['body.a', 'another value'],
        ['body.b.c', 'another value'],
        ['body.e', '129 characters'],
      ],
    )
    assert.doesNotMatch(JSON.stringify(refused), /secret/)
  })
})
