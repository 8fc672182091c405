import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { masked, maskPayload } from './mask-payload.ts'

describe('a masked payload', () => {
  const payload = {
    email: 'a@b.c',
    card: { number: 42, name: 'x' },
    items: [{ pin: 1, n: 1 }, { n: 2 }, 'text', null],
  }

  test.each([
    [[], payload],
    [['email'], { ...payload, email: masked }],
    [['card.number'], { ...payload, card: { number: masked, name: 'x' } }],
    [['card'], { ...payload, card: masked }],
    [['items.pin'], { ...payload, items: [{ pin: masked, n: 1 }, { n: 2 }, 'text', null] }],
    [['missing', 'email.deeper', 'card.missing.x', 'toString'], payload],
  ])('hides %j and keeps the rest', (paths, expected) => {
    const before = structuredClone(payload)
    assert.deepEqual(maskPayload(payload, paths), expected)
    assert.deepEqual(payload, before)
  })

  test('may be a single value or a list', () => {
    assert.equal(maskPayload('text', ['a']), 'text')
    assert.deepEqual(maskPayload([{ a: 1 }], ['a']), [{ a: masked }])
  })
})
