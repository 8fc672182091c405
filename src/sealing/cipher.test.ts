import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'vitest'
import { Cipher, keyIdOf } from './cipher.ts'

const key = { id: 'one', key: randomBytes(32) }
const other = { id: 'two', key: randomBytes(32) }

describe('a cipher', () => {
  test('opens what it has sealed, and never seals a text alike', () => {
    const cipher = new Cipher([key])
    for (const text of ['', 'text', 'ü😀\n', 'x'.repeat(100_000)]) {
      const sealed = cipher.seal(text)
      assert.notEqual(sealed, cipher.seal(text))
      assert.equal(keyIdOf(sealed), 'one')
      assert.equal(cipher.open(sealed), text)
      assert.equal(cipher.open(`a reason: ${sealed}`), `a reason: ${text}`)
    }
  })

  test('returns what is not sealed as it is', () => {
    assert.equal(new Cipher([key]).open('{"a":1}'), '{"a":1}')
  })

  test('opens with all its keys and seals with the first', () => {
    const sealed = new Cipher([key]).seal('text')
    const both = new Cipher([other, key])
    assert.equal(both.open(sealed), 'text')
    const again = both.reseal(sealed)
    assert.equal(keyIdOf(again ?? ''), 'two')
    assert.equal(both.reseal(again ?? ''), undefined)
    assert.equal(new Cipher([other]).open(again ?? ''), 'text')
  })

  test('refuses a text that was changed, cut, or sealed with another key', () => {
    const cipher = new Cipher([key])
    const sealed = cipher.seal('a text with some length')
    const at = sealed.length - 8
    const changed = `${sealed.slice(0, at)}${sealed[at] === 'A' ? 'B' : 'A'}${sealed.slice(at + 1)}`
    const renamed = sealed.replace('one', 'two')
    for (const wrong of [changed, sealed.slice(0, 30), renamed]) {
      assert.throws(() => new Cipher([key, other]).open(wrong), { code: 'encryption_failed' })
    }
    assert.throws(() => new Cipher([other]).open(sealed), {
      code: 'encryption_failed',
      message: "A text in the store is sealed with the key 'one', which is not given.",
    })
  })

  test('gives equal texts equal fingerprints, by each key', () => {
    const one = new Cipher([key]).fingerprints('text')
    assert.deepEqual(new Cipher([other, key]).fingerprints('text')[1], one[0])
    assert.notDeepEqual(new Cipher([key]).fingerprints('texts'), one)
  })
})
