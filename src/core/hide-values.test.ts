import { assert, describe, it } from 'vitest'
import { hideValues } from './hide-values.ts'

describe('hiding values in a text', () => {
  it.each([
    ['no card 4111-1111 for 4111', ['4111', '4111-1111'], 'no card [hidden] for [hidden]'],
    ['abab', ['ab'], '[hidden][hidden]'],
    // Neither rest of two values that overlap may be shown.
    ['x abcdefg y', ['abcd', 'bcdefg'], 'x [hidden] y'],
    ['aaaa', ['aaa'], '[hidden]'],
    ['a b', ['', 'b'], 'a [hidden]'],
    ['nothing', [], 'nothing'],
    ['', ['abc'], ''],
  ])('in %j, %j', (text, values, expected) => {
    assert.equal(hideValues(text, values), expected)
  })

  it('reads only so much, and shows no part of a value at its end', () => {
    assert.equal(hideValues('0123456789', ['567'], { lengthMax: 6 }), '01234[hidden]')
    assert.equal(hideValues('0123456789', ['567'], { lengthMax: 5 }), '01234')
    assert.equal(hideValues('0123456789', [], { lengthMax: 5 }), '01234')
  })

  it('takes about as long for many values as for few', () => {
    const values = Array.from({ length: 50_000 }, (_, index) => `customer-${index}@example.org`)
    const texts = Array.from({ length: 500 }, (_, index) => `line ${index} of customer-${index}.`)
    hideValues('', values)
    const before = performance.now()
    for (const text of texts) hideValues(text, values)
    assert.isBelow(performance.now() - before, 2_000)
  })
})
