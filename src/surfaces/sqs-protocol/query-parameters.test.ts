import assert from 'node:assert/strict'
import fc from 'fast-check'
import { describe, test } from 'vitest'
import { type ParameterNode, parseParameters } from './query-parameters.ts'

function at(node: ParameterNode, path: string): string | undefined {
  let found: ParameterNode | undefined = node
  for (const step of path.split('.')) found = found?.children.get(step)
  return found?.value
}

describe('parameters', () => {
  test('are a tree along their dots', () => {
    const root = parseParameters('Action=SendMessage&Attribute.1.Name=a&Attribute.1.Value=b')
    assert.equal(at(root, 'Action'), 'SendMessage')
    assert.equal(at(root, 'Attribute.1.Name'), 'a')
    assert.equal(at(root, 'Attribute.1.Value'), 'b')
    assert.equal(at(root, 'Attribute.1'), undefined)
    assert.equal(at(root, 'Attribute.2.Name'), undefined)
  })

  test('come from a form and from an address, and the first of a name counts', () => {
    const root = parseParameters('a=form&a=again', 'a=address&b=address')
    assert.deepEqual([at(root, 'a'), at(root, 'b')], ['form', 'address'])
  })

  test('may be without a value, and an empty value is one', () => {
    const root = parseParameters('a&b=&=c&&d=1=2', '')
    assert.deepEqual([at(root, 'a'), at(root, 'b'), at(root, 'd')], ['', '', '1=2'])
    assert.deepEqual([...root.children.keys()], ['a', 'b', 'd'])
  })

  test('carry any text through percent signs and plus signs', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        const form = new URLSearchParams({ text }).toString()
        assert.equal(at(parseParameters(form), 'text'), text)
        assert.equal(at(parseParameters(`text=${encodeURIComponent(text)}`), 'text'), text)
      }),
    )
  })

  test('may be called like parts of every object', () => {
    const root = parseParameters('__proto__.polluted=x&constructor=y')
    assert.equal(at(root, '__proto__.polluted'), 'x')
    assert.equal(at(root, 'constructor'), 'y')
    assert.ok(!('polluted' in {}))
  })

  test.each(['a=%', 'a=%G0', '%=a', 'a=%FF', 'a=%C3%28', 'a=%ED%A0%80'])(
    'are refused when they are not percent-encoded UTF-8: %s',
    (query) => {
      assert.throws(() => parseParameters(query), { kind: 'SerializationException' })
    },
  )

  test('are refused when there are more than any request needs', () => {
    parseParameters('a=b&'.repeat(999))
    assert.throws(() => parseParameters('a=b&'.repeat(1_001)), { kind: 'SerializationException' })
  })

  test('end somewhere, however deep a name is', () => {
    const root = parseParameters(`${'a.'.repeat(100_000)}a=x`)
    assert.equal(at(root, 'a.a.a.a.a.a.a.a'), 'x')
    assert.equal(at(root, 'a.a.a.a.a.a.a.a.a'), undefined)
  })
})
