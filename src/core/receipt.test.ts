import assert from 'node:assert/strict'
import fc from 'fast-check'
import { describe, test } from 'vitest'
import { formatReceipt, parseReceipt } from './receipt.ts'

const part = fc.nat({ max: Number.MAX_SAFE_INTEGER })
const receipts = fc.record(
  { queueId: part, sequence: part, token: part },
  { noNullPrototype: true },
)

describe('a receipt', () => {
  test('gives back the queue, the message and the token', () => {
    fc.assert(
      fc.property(receipts, (receipt) => {
        assert.deepEqual(parseReceipt(formatReceipt(receipt)), receipt)
      }),
    )
  })

  test('is different for every lease', () => {
    fc.assert(
      fc.property(receipts, receipts, (one, other) => {
        fc.pre(JSON.stringify(one) !== JSON.stringify(other))
        assert.notEqual(formatReceipt(one), formatReceipt(other))
      }),
    )
  })

  test('is refused when one of its characters was changed', () => {
    const receipt = formatReceipt({ queueId: 3, sequence: 1_234_567, token: 89 })
    for (let at = 0; at < receipt.length; at += 1) {
      const mangled = `${receipt.slice(0, at)}~${receipt.slice(at + 1)}`
      assert.equal(parseReceipt(mangled), undefined, mangled)
    }
  })

  test('is refused when its numbers do not fit its check digits', () => {
    const receipt = formatReceipt({ queueId: 3, sequence: 45, token: 6 })
    assert.equal(parseReceipt(receipt.replace('r1-3-', 'r1-4-')), undefined)
    assert.equal(parseReceipt(receipt.replace('-6-', '-7-')), undefined)
  })

  test.each(['', 'r1', 'r2-1-1-1-abc', 'r1-1-1-1', 'r1-zzzzzzzzzzz-1-1-abc', `r1-1-1-1-abc\n`])(
    'is not %j',
    (text) => {
      assert.equal(parseReceipt(text), undefined)
    },
  )
})
