import assert from 'node:assert/strict'
import fc from 'fast-check'
import { describe, test } from 'vitest'
import { parseVariables, type Segment, VariableSyntaxError } from './variable-syntax.ts'

describe('the syntax of variables', () => {
  test.each<[string, readonly Segment[]]>([
    ['plain', ['plain']],
    ['', []],
    ['${AWS::Region}', ['${AWS::Region}']],
    ['${Queue.Arn}', ['${Queue.Arn}']],
    ['\\${self:a}', ['\\${self:a}']],
    [
      'a${self:b}c',
      [
        'a',
        {
          sources: [{ type: 'self', argument: undefined, address: ['b'] }],
          text: '${self:b}',
        },
        'c',
      ],
    ],
    [
      '${file( x.yml ): k, "d", 1, null}',
      [
        {
          sources: [
            { type: 'file', argument: ['x.yml'], address: ['k'] },
            { literal: 'd' },
            { literal: 1 },
            { literal: null },
          ],
          text: '${file( x.yml ): k, "d", 1, null}',
        },
      ],
    ],
  ])('is read: %j', (text, segments) => {
    assert.deepEqual(parseVariables(text), segments)
  })

  test('finds a variable in a variable', () => {
    const [outer] = parseVariables('${self:a.${opt:b}.c}')
    assert.ok(typeof outer === 'object')
    const [source] = outer.sources
    assert.ok(source !== undefined && 'address' in source)
    const [before, inner, after] = source.address ?? []
    assert.deepEqual([before, after], ['a.', '.c'])
    assert.equal(typeof inner === 'object' && inner.text, '${opt:b}')
  })

  test('ends with parts or a syntax error, whatever the text', () => {
    const piece = fc.constantFrom(...'${}:,()\'"\\ab.1 '.split(''), '${self:', '${file(')
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        try {
          parseVariables(pieces.join(''))
        } catch (error) {
          assert.ok(error instanceof VariableSyntaxError)
        }
      }),
    )
  })

  test('keeps every character of a text without variables', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        fc.pre(!text.includes('${'))
        assert.equal(parseVariables(text).join(''), text)
      }),
    )
  })
})
