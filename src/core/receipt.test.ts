import assert from 'node:assert/strict'
import fc from 'fast-check'
import { describe, test } from 'vitest'
import { looksLikeReceipt, Receipts } from './receipt.ts'

const part = fc.nat({ max: 2 ** 45 })
const numbers = fc.record({ queueId: part, sequence: part, token: part }, { noNullPrototype: true })
const receipts = new Receipts('0123456789abcdef')

describe('a receipt', () => {
  test('gives back the queue, the message and the token', () => {
    fc.assert(
      fc.property(numbers, (receipt) => {
        const text = receipts.format(receipt)
        assert.deepEqual(receipts.parse(text), receipt)
        assert.ok(looksLikeReceipt(text))
      }),
    )
  })

  test('is different for every lease', () => {
    fc.assert(
      fc.property(numbers, numbers, (one, other) => {
        fc.pre(JSON.stringify(one) !== JSON.stringify(other))
        assert.notEqual(receipts.format(one), receipts.format(other))
      }),
    )
  })

  test('is refused when one of its characters was changed', () => {
    const receipt = receipts.format({ queueId: 3, sequence: 1_234_567, token: 89 })
    for (let at = 0; at < receipt.length; at += 1) {
      for (const character of ['~', receipt[at] === '1' ? '2' : '1']) {
        const mangled = `${receipt.slice(0, at)}${character}${receipt.slice(at + 1)}`
        assert.equal(receipts.parse(mangled), undefined, mangled)
      }
    }
  })

  test('of another store is refused, also for the same message', () => {
    const other = new Receipts('0123456789abcdee')
    fc.assert(
      fc.property(numbers, (receipt) => {
        assert.equal(receipts.parse(other.format(receipt)), undefined)
      }),
    )
  })

  test('does not follow from the receipts before it', () => {
    const codes = Array.from({ length: 1_000 }, (_, token) => {
      const text = receipts.format({ queueId: 1, sequence: 7, token })
      const [first = 0, second = 0] = text
        .slice(text.lastIndexOf('-') + 1)
        .split('.')
        .map(Number)
      return first * 2 ** 22 + (second & 0x3fffff)
    })
    const steps = codes.slice(1).map((code, index) => code - (codes[index] ?? 0))
    assert.equal(new Set(steps).size, steps.length)
    // Every bit changes about half of the time.
    for (let bit = 0; bit < 52; bit += 1) {
      const ones = codes.filter((code) => Math.floor(code / 2 ** bit) % 2 === 1).length
      assert.ok(ones > 400 && ones < 600, `bit ${bit}: ${ones}`)
    }
  })

  test('of the former form counts up to the last token that was given out with it', () => {
    const former = 'r1-2-5-1099511627781-2697510'
    assert.ok(looksLikeReceipt(former))
    assert.equal(receipts.parse(former), undefined)
    const upgraded = (tokenMax: number): Receipts => new Receipts('0123456789abcdef', tokenMax)
    assert.equal(upgraded(1_099_511_627_780).parse(former), undefined)
    const sum = 2 * 31 + 5 * 1_009 + (1_099_511_627_781 % 9_999_991) * 65_537 + 7
    const valid = `r1-2-5-1099511627781-${sum % 9_999_991}`
    assert.equal(upgraded(1_099_511_627_781).parse(valid)?.token, 1_099_511_627_781)
    assert.equal(upgraded(1_099_511_627_780).parse(valid), undefined)
  })

  test.each([
    '',
    'r2',
    'r3-1-1-1-1.1',
    'r2-1-1-1-1',
    'r2-1-1-1',
    'r2-zzzzzzzzzzz-1-1-1.1',
    'r2-1-1-1-1.1\n',
    'r2-01-1-1-1.1',
  ])('is not %j', (text) => {
    assert.equal(receipts.parse(text), undefined)
    assert.equal(looksLikeReceipt(text), false)
  })
})
