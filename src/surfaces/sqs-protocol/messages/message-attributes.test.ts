import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { SqsError } from '../sqs-error.ts'
import type { WireAttribute } from './attribute-shapes.ts'
import { readAttributes, readTraceHeader, writeAttributes } from './message-attributes.ts'

const text = (value: string): WireAttribute => ({ DataType: 'String', StringValue: value })

function refusedBy(run: () => unknown): { kind: string; message: string } {
  try {
    run()
  } catch (error) {
    assert.ok(error instanceof SqsError)
    return { kind: error.kind, message: error.message }
  }
  return assert.fail('a refusal was expected')
}

function assertInvalid(run: () => unknown, message: string): void {
  assert.deepEqual(refusedBy(run), { kind: 'InvalidParameterValueException', message })
}

describe('names of attributes', () => {
  const reserved =
    "You can't use message attribute names beginning with 'AWS.' or 'Amazon.'. These strings are reserved for internal use."
  const characters =
    'Message (user) attribute name can only contain upper and lower score characters, digits, periods, hyphens and underscores.'

  test.each([
    ['', 'The request must contain non-empty message (user) attribute names.'],
    ['L'.repeat(257), 'Message (user) attribute name must be shorter than 256 bytes.'],
    ['aWs.x', reserved],
    ['AMAZON.x', reserved],
    ['.x', "Message (user) attribute name must not begin with character '.'."],
    ['x.', "Message (user) attribute name must not end with character '.'."],
    ['x..y', "Message (user) attribute name must not have successive '.' characters."],
    ['x!y', characters],
    ['x§y', characters],
    ['x y', characters],
  ])('%j is refused', (name, message) => {
    assertInvalid(() => readAttributes({ [name]: text('Valid') }), message)
  })

  test.each(['attr.1øßä', 'a-b_c.d', 'awsome', 'L'.repeat(256), '__proto__'])(
    '%j is taken',
    (name) => {
      const { all: attributes } = readAttributes(Object.fromEntries([[name, text('Valid')]]))
      assert.deepEqual(Object.entries(attributes ?? {}), [
        [name, { type: 'String', value: 'Valid' }],
      ])
    },
  )
})

describe('types and values of attributes', () => {
  const empty = (type: string): string =>
    `Message (user) attribute 'x' must contain a non-empty value of type '${type}'.`
  const type =
    "The type of message (user) attribute 'x' is invalid. You must use only the following supported type prefixes: Binary, Number, String."
  const bytes = Buffer.from('x')

  test.each<[string, WireAttribute, string]>([
    [
      'nothing',
      {},
      "The message (user) attribute 'x' must contain a non-empty message attribute value.",
    ],
    [
      'no type',
      { StringValue: 'v' },
      "The message (user) attribute 'x' must contain a non-empty message attribute type.",
    ],
    [
      'an empty type',
      { DataType: '', StringValue: 'v' },
      "The message (user) attribute 'x' must contain a non-empty message attribute type.",
    ],
    ['an unknown type', { DataType: 'Invalid', StringValue: 'v' }, type],
    ['a type in small letters', { DataType: 'string', StringValue: 'v' }, type],
    ['a type that only begins well', { DataType: 'Strings', StringValue: 'v' }, type],
    ['a suffix of nothing', { DataType: 'String.', StringValue: 'v' }, type],
    [
      'a long type',
      { DataType: `Number.${'L'.repeat(250)}`, StringValue: '1' },
      'Message (user) attribute type must be shorter than 256 bytes.',
    ],
    ['no value', { DataType: 'String' }, empty('String')],
    ['an empty text', text(''), empty('String')],
    ['an empty number', { DataType: 'Number', StringValue: '' }, empty('Number')],
    ['no bytes', { DataType: 'Binary.x', BinaryValue: Buffer.alloc(0) }, empty('Binary.x')],
    [
      'two values',
      { DataType: 'String', StringValue: 'v', BinaryValue: bytes },
      "Message (user) attribute 'x' must have a single value.",
    ],
    [
      'bytes as text',
      { DataType: 'String.x', BinaryValue: bytes },
      "Message (user) attribute 'x' with type 'String.x' must use field 'String'.",
    ],
    [
      'text as bytes',
      { DataType: 'Binary', StringValue: 'v' },
      "Message (user) attribute 'x' with type 'Binary' must use field 'Binary'.",
    ],
    [
      'no number',
      { DataType: 'Number', StringValue: 'world' },
      "Can't cast the value of message (user) attribute 'x' to a number.",
    ],
    [
      'a control character',
      text('a\u0008'),
      "Invalid binary character '#x8' was found in the message (user) attribute 'x' value, the set of allowed characters is #x9 | #xA | #xD | [#x20-#xD7FF] | [#xE000-#xFFFD] | [#x10000-#x10FFFF].",
    ],
  ])('%s is refused', (_what, attribute, message) => {
    assertInvalid(() => readAttributes({ x: attribute }), message)
  })

  test.each<[string, WireAttribute]>([
    ['texts', { DataType: 'StringList', StringListValues: ['a'] }],
    ['bytes', { DataType: 'BinaryList', BinaryListValues: [bytes] }],
  ])('a list of %s is not supported, as in SQS', (_what, attribute) => {
    assert.deepEqual(
      refusedBy(() => readAttributes({ x: attribute })),
      {
        kind: 'UnsupportedOperation',
        message: 'Message attribute list values in SendMessage operation are not supported.',
      },
    )
  })

  test.each(['1', '-1.5', '+.5', '1e126', '1234567890123456789012'])('%s is a number', (value) => {
    const { all: attributes } = readAttributes({ x: { DataType: 'Number.x', StringValue: value } })
    assert.deepEqual(attributes, { x: { type: 'Number.x', value } })
  })

  test('an eleventh attribute is one too many', () => {
    const names = Array.from({ length: 11 }, (_, index) => `a${index}`)
    const wire = Object.fromEntries(names.map((name) => [name, text('v')]))
    assertInvalid(
      () => readAttributes(wire),
      'Number of message attributes [11] exceeds the allowed maximum [10].',
    )
  })

  test('no attributes are none, and not an empty set of them', () => {
    const none = { all: undefined, own: undefined, job: undefined }
    assert.deepEqual(readAttributes({}), none)
    assert.deepEqual(readAttributes(undefined), none)
  })

  test('what was read is written as it came', () => {
    const wire = { a: text('v'), b: { DataType: 'Binary.gif', BinaryValue: bytes } }
    assert.deepEqual(writeAttributes(readAttributes(wire).all ?? {}), wire)
  })

  test('of a job do not count towards the ten', () => {
    const ten = Object.fromEntries(Array.from({ length: 10 }, (_, at) => [`a${at}`, text('v')]))
    const ofJob = { 'millrace.jobType': text('OCR'), 'millrace.owner': text('ann') }
    const { all = {}, own = {}, job = {} } = readAttributes({ ...ten, ...ofJob })
    assert.deepEqual(Object.keys(all).length, 12)
    assert.deepEqual(writeAttributes(own), ten)
    assert.deepEqual(writeAttributes(job), ofJob)
    assert.deepEqual(readAttributes(ofJob).own, undefined)
    assert.throws(
      () => readAttributes({ ...ten, ...ofJob, eleven: text('v') }),
      /attributes \[11\]/,
    )
  })

  test.each(['millrace.jobId', 'millrace.deadline', 'millrace.x', 'Millrace.jobType'])(
    'the name %s is reserved',
    (name) => {
      assert.throws(
        () => readAttributes({ [name]: text('v') }),
        /beginning with 'millrace\.' are reserved; a sender may set only millrace\.jobType, /,
      )
    },
  )
})

describe('attributes for SQS itself', () => {
  test('the trace header is the only one', () => {
    assert.equal(readTraceHeader({ AWSTraceHeader: text('Root=1') }), 'Root=1')
    assert.equal(readTraceHeader({}), undefined)
    assertInvalid(
      () => readTraceHeader({ Hello: text('World') }),
      "Message system attribute name 'Hello' is invalid.",
    )
  })

  test.each<[string, WireAttribute, string]>([
    [
      'empty',
      text(''),
      "Message system attribute 'AWSTraceHeader' must contain a non-empty value of type 'String'.",
    ],
    [
      'a number',
      { DataType: 'Number', StringValue: '1' },
      "The data type of message system attribute 'AWSTraceHeader' must be String.",
    ],
  ])('a trace header that is %s is refused', (_what, attribute, message) => {
    assertInvalid(() => readTraceHeader({ AWSTraceHeader: attribute }), message)
  })
})
