import { assert, describe, it } from 'vitest'
import { assertTimesAsLong } from '../../test/support/processor-time.ts'
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

  const listOf = (count: number, itemOf: (index: number) => string): readonly string[] =>
    Array.from({ length: count }, (_, index) => itemOf(index))
  const hideEach = (texts: readonly string[], values: readonly string[]) => (): void => {
    for (const text of texts) hideValues(text, values)
  }

  it('takes about as long for many values as for few', async () => {
    const [few, many] = [50, 50_000].map((count) => listOf(count, (at) => `${at} is a customer`))
    const texts = listOf(500, (index) => `line ${index} of ${index} is a customer.`)
    await assertTimesAsLong({
      work: hideEach(texts, many ?? []),
      reference: hideEach(texts, few ?? []),
      timesMax: 10,
    })
  })

  it('compares values that begin alike only where a text has their beginning', async () => {
    const values = listOf(10_000, (index) => `customer-${index}@example.org`)
    const texts = listOf(50, (index) => `line ${index} of customer-${index}.`)
    await assertTimesAsLong({
      work: hideEach(texts, values),
      reference: () => texts.map((text) => values.filter((value) => text.startsWith(value, 10))),
      timesMax: 5,
    })
  })
})
