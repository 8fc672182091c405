import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { type Node, valueAt } from './node.ts'
import { parseDocument } from './parse-document.ts'
import { Problems } from './problems.ts'
import { jsonOf } from './texts.ts'

function parsed(text: string): Node {
  const problems = new Problems()
  const node = parseDocument({ file: 'f.yaml', text }, problems)
  assert.deepEqual(problems.list(), [])
  assert.ok(node !== undefined)
  return node
}

describe('a document', () => {
  test('spells out the short forms of functions', () => {
    const text =
      'a: !Ref q\nb: !GetAtt q.Arn\nc: !Condition x\nd: !If [x, !Ref y, 1]\ne: !Sub\n  - a\n  - {}\n'
    assert.deepEqual(jsonOf(parsed(text)), {
      a: { Ref: 'q' },
      b: { 'Fn::GetAtt': 'q.Arn' },
      c: { Condition: 'x' },
      d: { 'Fn::If': ['x', { Ref: 'y' }, 1] },
      e: { 'Fn::Sub': ['a', {}] },
    })
  })

  test('knows where each value stands', () => {
    const node = parsed('a:\n  - x\n  - b: "y"\n')
    const list = valueAt(node, 'a')
    assert.ok(list?.kind === 'list')
    const inner = valueAt(list.items[1], 'b')
    assert.deepEqual(inner?.at, { file: 'f.yaml', line: 3, column: 8 })
    assert.equal(inner?.path, 'a[1].b')
  })

  test('keeps numbers as they were written, also as keys', () => {
    const node = parsed('007: 012\nb: 1.10\n')
    const value = valueAt(node, '007')
    assert.ok(value?.kind === 'scalar')
    assert.deepEqual([value.text, value.value], ['012', 12])
    const other = valueAt(node, 'b')
    assert.equal(other?.kind === 'scalar' && other.text, '1.10')
  })

  test('merges what << names, and what is beside it wins', () => {
    const text =
      'base: &base { a: 1, b: 2 }\nmore: &more { b: 3, c: 4 }\nall: { <<: [*base, *more], a: 0 }\n'
    assert.deepEqual(jsonOf(valueAt(parsed(text), 'all') ?? parsed('')), { a: 0, b: 2, c: 4 })
  })

  test('takes the same place for what is empty as for its key', () => {
    const node = parsed('a:\n  b:\n')
    assert.deepEqual(valueAt(valueAt(node, 'a'), 'b')?.at.line, 2)
  })
})
