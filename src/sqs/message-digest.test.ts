import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import type { MessageAttribute } from '../core/message.ts'
import { digestOfAttributes, digestOfBody, digestOfTraceHeader } from './message-digest.ts'

const string = (value: string): MessageAttribute => ({ type: 'String', value })

const greeting = {
  'Help.Me': string('Me'),
  Hello: string('There'),
  General: string('Kenobi'),
}

describe('MD5 of messages, as AWS answered them', () => {
  test('of a body', () => {
    assert.equal(digestOfBody('message'), '78e731027d8fd50ed642340b7c9a63b3')
  })

  test('of attributes, whatever their order', () => {
    assert.equal(digestOfAttributes(greeting), '4c360f3fdafd970e05fae2f149d997f5')
    const turned = Object.fromEntries(Object.entries(greeting).reverse())
    assert.equal(digestOfAttributes(turned), '4c360f3fdafd970e05fae2f149d997f5')
  })

  test('of a part of the attributes', () => {
    const { Hello, General } = greeting
    assert.equal(digestOfAttributes({ Hello, General }), 'fca026605781cb4126a1e9044df24232')
    assert.equal(digestOfAttributes({ Hello }), 'a311262e065454b75da111d535b8dacd')
  })

  test('of bytes', () => {
    const value = Buffer.from(
      'traceparent\x1e00-774062d6c37081a5a0b9b5b88e30627c-2d2482211f6489da-01',
    )
    assert.equal(
      digestOfAttributes({ attr1: { type: 'Binary', value } }),
      '8cbe4db156db8a94db8b801b7addb984',
    )
  })

  test('of a custom type', () => {
    const value = '1234567890123456789012'
    assert.equal(
      digestOfAttributes({ UserId: { type: 'Number.bigint', value } }),
      '797ab158d73dcb5242dedc4412c8e855',
    )
  })

  test('of a trace header', () => {
    assert.equal(digestOfTraceHeader('some-trace-id'), 'fdce4f2818803f2f73becc09a54792c0')
  })
})

test('a body is digested as UTF-8', () => {
  assert.equal(digestOfBody('日本語'), '00110af8b4393ef3f72c50be5b332bec')
})

test('no attributes have no digest', () => {
  assert.equal(digestOfAttributes({}), undefined)
})

test('text and bytes of the same content differ', () => {
  const text = { type: 'String', value: 'x' }
  const bytes = { type: 'String', value: Buffer.from('x') }
  assert.notEqual(digestOfAttributes({ a: text }), digestOfAttributes({ a: bytes }))
})

test('an attribute named as something that objects have counts like any other', () => {
  const attributes = Object.fromEntries([['__proto__', string('x')]])
  assert.notEqual(digestOfAttributes(attributes), undefined)
})
