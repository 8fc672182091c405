import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import type { Violations } from '../../core/checks.ts'
import { compileFilters } from './event-filter.ts'
import type { SqsRecord } from './sqs-event.ts'

function record(body: string, changes: Partial<SqsRecord> = {}): SqsRecord {
  return {
    messageId: 'id',
    receiptHandle: 'receipt',
    body,
    attributes: { ApproximateReceiveCount: '1' },
    messageAttributes: {},
    md5OfBody: '',
    eventSource: 'aws:sqs',
    eventSourceARN: 'arn:aws:sqs:eu-west-1:123456789012:work',
    awsRegion: 'eu-west-1',
    ...changes,
  }
}

function passes(
  patterns: readonly unknown[],
  body: unknown,
  changes?: Partial<SqsRecord>,
): boolean {
  const violations: Violations = []
  const filter = compileFilters(violations, 'filters', patterns)
  assert.deepEqual(violations, [])
  return filter(record(typeof body === 'string' ? body : JSON.stringify(body), changes))
}

const inBody = (rules: unknown): readonly unknown[] => [{ body: rules }]

describe('a filter pattern', () => {
  test.each([
    ['equal text', ['gold'], 'gold', 'Gold'],
    ['an equal number', [7], 7, '7'],
    ['true', [true], true, false],
    ['null', [null], null, ''],
    ['empty text', [''], '', null],
    ['one of several values', ['gold', 3], 3, 'silver'],
    ['text that begins so', [{ prefix: 'go' }], 'gold', 'ego'],
    [
      'text that begins so in any case',
      [{ prefix: { 'equals-ignore-case': 'GO' } }],
      'gold',
      'ego',
    ],
    ['text that ends so', [{ suffix: '.png' }], 'a.png', 'a.png.gz'],
    ['text in any case', [{ 'equals-ignore-case': 'GOLD' }], 'gOld', 'golden'],
    ['anything but one value', [{ 'anything-but': 'gold' }], 'silver', 'gold'],
    ['anything but some values', [{ 'anything-but': ['gold', 'iron'] }], 'tin', 'iron'],
    ['anything but some numbers', [{ 'anything-but': [1, 2] }], 3, 2],
    ['anything that does not begin so', [{ 'anything-but': { prefix: 'go' } }], 'tin', 'gold'],
    ['anything that does not end so', [{ 'anything-but': { suffix: 'ld' } }], 'tin', 'gold'],
    [
      'anything but a word in any case',
      [{ 'anything-but': { 'equals-ignore-case': 'GOLD' } }],
      'tin',
      'gold',
    ],
    ['an equal number by comparison', [{ numeric: ['=', 3] }], 3, 4],
    ['a number below', [{ numeric: ['<', 3] }], 2.5, 3],
    ['a number in a range', [{ numeric: ['>', 0, '<=', 5] }], 5, 0],
    ['a number, which text is not', [{ numeric: ['>=', 0] }], 0, '5'],
    ['one entry of a list', ['gold'], ['iron', 'gold'], ['iron']],
    ['an entry of a list that is something else', [{ 'anything-but': 'a' }], ['a', 'b'], ['a']],
  ])('matches %s', (_, rules, matching, other) => {
    assert.equal(passes(inBody({ metal: rules }), { metal: matching }), true)
    assert.equal(passes(inBody({ metal: rules }), { metal: other }), false)
  })

  test('tells whether a field is there', () => {
    const there = inBody({ a: { b: [{ exists: true }] } })
    const missing = inBody({ a: { b: [{ exists: false }] } })
    for (const [body, exists] of [
      [{ a: { b: null } }, true],
      [{ a: { c: 1 } }, false],
      [{}, false],
      // Only plain values exist for AWS.
      [{ a: { b: { c: 1 } } }, false],
    ] as const) {
      assert.equal(passes(there, body), exists)
      assert.equal(passes(missing, body), !exists)
    }
  })

  test('does not take a missing field for anything but a value', () => {
    assert.equal(passes(inBody({ metal: [{ 'anything-but': 'gold' }] }), { other: 1 }), false)
  })

  test('needs all of its fields', () => {
    const pattern = inBody({ metal: ['gold'], size: [{ numeric: ['>', 2] }] })
    assert.equal(passes(pattern, { metal: 'gold', size: 3 }), true)
    assert.equal(passes(pattern, { metal: 'gold', size: 2 }), false)
    assert.equal(passes(pattern, { size: 3 }), false)
  })

  test('finds its fields in one and the same entry of a list', () => {
    const pattern = inBody({ items: { metal: ['gold'], size: [3] } })
    assert.equal(passes(pattern, { items: [{ metal: 'tin' }, { metal: 'gold', size: 3 }] }), true)
    assert.equal(
      passes(pattern, {
        items: [
          { metal: 'gold', size: 1 },
          { metal: 'tin', size: 3 },
        ],
      }),
      false,
    )
  })

  test('needs one of the alternatives of $or', () => {
    const pattern = inBody({ kind: ['ring'], $or: [{ metal: ['gold'] }, { size: [3] }] })
    assert.equal(passes(pattern, { kind: 'ring', size: 3 }), true)
    assert.equal(passes(pattern, { kind: 'ring', metal: 'gold' }), true)
    assert.equal(passes(pattern, { kind: 'ring', metal: 'tin' }), false)
    assert.equal(passes(pattern, { metal: 'gold', size: 3 }), false)
  })

  test('takes $or for the name of a field when it has no alternatives', () => {
    assert.equal(passes(inBody({ $or: ['x'] }), { $or: 'x' }), true)
  })

  test('finds no field that every object has', () => {
    assert.equal(passes(inBody({ constructor: [{ exists: true }] }), {}), false)
  })

  test('can look at the other fields of a record', () => {
    const pattern = [{ messageAttributes: { kind: { stringValue: ['a'] } } }]
    const kind = (stringValue: string): Partial<SqsRecord> => ({
      messageAttributes: {
        kind: { stringValue, stringListValues: [], binaryListValues: [], dataType: 'String' },
      },
    })
    assert.equal(passes(pattern, 'any text', kind('a')), true)
    assert.equal(passes(pattern, { any: 'json' }, kind('b')), false)
  })

  test('passes a message when one of several patterns matches', () => {
    const patterns = [{ body: { a: [1] } }, { body: { b: [1] } }]
    assert.equal(passes(patterns, { b: 1 }), true)
    assert.equal(passes(patterns, { c: 1 }), false)
    assert.equal(passes([], 'anything'), true)
  })
})

describe('the form of a body', () => {
  test('is text for a pattern with rules, and only then', () => {
    assert.equal(passes(inBody(['gold', { prefix: 'si' }]), 'silver'), true)
    assert.equal(passes(inBody(['gold']), 'iron'), false)
    assert.equal(passes(inBody([{ prefix: '' }]), { metal: 'gold' }), false)
    assert.equal(passes(inBody([{ 'anything-but': 'x' }]), ['gold']), false)
  })

  test('is JSON for a pattern with fields, and only then', () => {
    assert.equal(passes(inBody({ metal: [{ exists: false }] }), '{"other":1}'), true)
    assert.equal(passes(inBody({ metal: [{ exists: false }] }), 'plain text'), false)
    assert.equal(passes(inBody({ metal: [{ exists: false }] }), '{"broken'), false)
  })

  test('is not looked at by a pattern about something else', () => {
    const pattern = [{ awsRegion: ['eu-west-1'] }]
    assert.equal(passes(pattern, 'plain text'), true)
    assert.equal(passes(pattern, { any: 'json' }), true)
  })
})

describe('a pattern that cannot be understood', () => {
  test.each([
    ['no object', 'gold', 'filters[0]'],
    ['an object without fields', {}, 'filters[0]'],
    ['a value that is not in a list', { body: { metal: 'gold' } }, 'filters[0].body.metal'],
    ['a list without values', { body: { metal: [] } }, 'filters[0].body.metal'],
    ['a rule that Lambda does not know', { body: [{ wildcard: 'a*' }] }, 'filters[0].body[0]'],
    ['two rules in one', { body: [{ prefix: 'a', suffix: 'b' }] }, 'filters[0].body[0]'],
    ['a prefix that is a number', { body: [{ prefix: 3 }] }, 'filters[0].body[0]'],
    ['exists without true or false', { body: [{ exists: 'yes' }] }, 'filters[0].body[0]'],
    ['a comparison with text', { body: [{ numeric: ['>', '3'] }] }, 'filters[0].body[0]'],
    ['a comparison without its number', { body: [{ numeric: ['>'] }] }, 'filters[0].body[0]'],
    [
      'a comparison of three numbers',
      { body: [{ numeric: ['>', 1, '<', 9, '=', 3] }] },
      'filters[0].body[0]',
    ],
    [
      'anything but numbers and text',
      { body: [{ 'anything-but': ['a', 1] }] },
      'filters[0].body[0]',
    ],
  ])('is refused with its place: %s', (_, pattern, field) => {
    const violations: Violations = []
    const filter = compileFilters(violations, 'filters', [pattern])
    assert.deepEqual(
      violations.map((violation) => violation.field),
      [field],
    )
    assert.equal(filter(record('a')), false)
  })
})
