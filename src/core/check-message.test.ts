import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { type MessageRules, messageBytes, refuseMessage } from './check-message.ts'
import type { NewMessage } from './message.ts'

const standard: MessageRules = {
  type: 'standard',
  messageBytesMax: 1_024,
  deduplicateByContent: false,
  delayMs: 0,
  retentionMs: 3_600_000,
}
const shortLived = { ...standard, retentionMs: 60_000 }
const fifo: MessageRules = { ...standard, type: 'fifo' }

const now = 1_700_000_000_000
const tenYears = 315_576_000_000

const refusal = (message: unknown, rules = standard): string | undefined => {
  const error = refuseMessage(message as NewMessage, rules, now)
  return error && [error.code, ...error.violations.map(({ field }) => field)].join(' ')
}
const attributes = (name: string, attribute: unknown): unknown => ({
  body: 'x',
  attributes: { [name]: attribute },
})
const text = (value: string): unknown => ({ type: 'String', value })

describe('a message is taken', () => {
  test.each<[string, unknown, MessageRules]>([
    ['with a body alone', { body: '{}' }, standard],
    ['with a delay below the retention', { body: 'x', delayMs: 59_999 }, shortLived],
    ['with no delay of its own', { body: 'x', delayMs: 0 }, { ...shortLived, delayMs: 60_000 }],
    ['in any language', { body: 'größe 漢字 👍\t\r\n' }, standard],
    ['with a delay of years', { body: 'x', delayMs: tenYears }, shortLived],
    ['with a time in years', { body: 'x', runAt: now + tenYears }, shortLived],
    ['with a time in the past', { body: 'x', runAt: 1 }, standard],
    ['with a delay and a group', { body: 'x', delayMs: 900_000, group: 'tenant-1' }, standard],
    ['with system attributes', { body: 'x', systemAttributes: { sender: 'me' } }, standard],
    ['with an attribute', attributes('trace.id', text('abc')), standard],
    ['with a custom type', attributes('n', { type: 'Number.float', value: '-1.5e3' }), standard],
    ['with bytes', attributes('b', { type: 'Binary', value: new Uint8Array([0]) }), standard],
    ['with group and id on a FIFO queue', { body: 'x', group: 'g', deduplicationId: 'd' }, fifo],
    [
      'with delay 0 on a FIFO queue',
      { body: 'x', group: 'g', deduplicationId: 'd', delayMs: 0 },
      fifo,
    ],
    [
      'without an id where the body makes one',
      { body: 'x', group: 'g' },
      { ...fifo, deduplicateByContent: true },
    ],
    ['up to the size of the queue', { body: 'x'.repeat(1_024) }, standard],
  ])('%s', (_how, message, rules) => {
    assert.equal(refusal(message, rules), undefined)
  })
})

describe('a message is refused', () => {
  test.each<[string, unknown, MessageRules, string]>([
    ['with an empty body', { body: '' }, standard, 'invalid_argument body'],
    ['with no text as body', { body: 7 }, standard, 'invalid_argument body'],
    ['with NUL in the body', { body: '\0' }, standard, 'invalid_message body'],
    ['with a lone surrogate', { body: '\ud800' }, standard, 'invalid_message body'],
    ['with U+FFFF', { body: '\uffff' }, standard, 'invalid_message body'],
    ['when too large', { body: 'x'.repeat(1_025) }, standard, 'message_too_large message'],
    ['when too large in UTF-8', { body: '漢'.repeat(400) }, standard, 'message_too_large message'],
    [
      'with a delay as long as the retention',
      { body: 'x', delayMs: 60_000 },
      shortLived,
      'invalid_argument delayMs',
    ],
    [
      "with the queue's delay, if that is as long as the retention",
      { body: 'x' },
      { ...shortLived, delayMs: 60_000 },
      'invalid_argument delayMs',
    ],
    [
      'with too long a delay',
      { body: 'x', delayMs: tenYears + 1 },
      standard,
      'invalid_argument delayMs',
    ],
    [
      'with a time too far away',
      { body: 'x', runAt: now + tenYears + 1 },
      standard,
      'invalid_argument runAt',
    ],
    [
      'with a time and a delay',
      { body: 'x', runAt: now, delayMs: 1 },
      standard,
      'invalid_argument runAt',
    ],
    [
      'with a time on a FIFO queue',
      { body: 'x', group: 'g', deduplicationId: 'd', runAt: now },
      fifo,
      'invalid_argument runAt',
    ],
    [
      'with a time that is as far away as the retention',
      { body: 'x', runAt: now + 60_000 },
      shortLived,
      'invalid_argument delayMs',
    ],
    ['with an empty group', { body: 'x', group: '' }, standard, 'invalid_argument group'],
    ['with spaces in the group', { body: 'x', group: 'a b' }, standard, 'invalid_argument group'],
    [
      'with a deduplication id on a standard queue',
      { body: 'x', deduplicationId: 'd' },
      standard,
      'invalid_argument deduplicationId',
    ],
    [
      'with too long a deduplication id',
      { body: 'x', group: 'g', deduplicationId: 'd'.repeat(129) },
      fifo,
      'invalid_argument deduplicationId',
    ],
    [
      'without a group on a FIFO queue',
      { body: 'x', deduplicationId: 'd' },
      fifo,
      'message_group_missing',
    ],
    ['without an id on a FIFO queue', { body: 'x', group: 'g' }, fifo, 'deduplication_id_missing'],
    [
      'with a delay on a FIFO queue',
      { body: 'x', group: 'g', deduplicationId: 'd', delayMs: 1 },
      fifo,
      'invalid_argument delayMs',
    ],
    [
      'with system attributes that are no text',
      { body: 'x', systemAttributes: { sender: 7 } },
      standard,
      'invalid_argument systemAttributes',
    ],
  ])('%s', (_how, message, rules, expected) => {
    assert.equal(refusal(message, rules), expected)
  })

  test.each(['', 'a b', '.a', 'a.', 'a..b', 'AWS.x', 'amazon.x', 'a'.repeat(257)])(
    'with the attribute name %j',
    (name) => {
      assert.match(refusal(attributes(name, text('x'))) ?? '', /^invalid_argument attributes: name/)
    },
  )

  test.each<[unknown, string]>([
    [{ type: 'Text', value: 'x' }, 'attributes.a.type'],
    [{ type: 7, value: 'x' }, 'attributes.a.type'],
    [{ type: 'String', value: '' }, 'attributes.a'],
    [{ type: 'String', value: '\0' }, 'attributes.a'],
    [{ type: 'Number', value: 'seven' }, 'attributes.a'],
    [{ type: 'Binary', value: 'text' }, 'attributes.a'],
    [{ type: 'Binary', value: new Uint8Array() }, 'attributes.a'],
  ])('with the attribute %j', (attribute, field) => {
    assert.equal(refusal(attributes('a', attribute)), `invalid_argument ${field}`)
  })

  test('with more than ten attributes', () => {
    const eleven = Object.fromEntries(Array.from({ length: 11 }, (_, n) => [`a${n}`, text('x')]))
    assert.equal(refusal({ body: 'x', attributes: eleven }), 'invalid_argument attributes')
  })

  test('without its contents in the error', () => {
    const error = refuseMessage(
      { body: 'x', attributes: { a: { type: 'Number', value: 'pa55word' } } },
      standard,
      now,
    )
    assert.ok(!JSON.stringify([error?.message, error?.violations]).includes('pa55word'))
  })
})

describe('the size of a message', () => {
  test('is that of the body in UTF-8, and of names, types and values of attributes', () => {
    const bytes = messageBytes({
      body: '漢字',
      attributes: {
        ab: { type: 'String', value: 'é' },
        c: { type: 'Binary', value: new Uint8Array(5) },
      },
    })
    assert.equal(bytes, 6 + (2 + 6 + 2) + (1 + 6 + 5))
  })

  test('counts attributes towards the limit', () => {
    const message = {
      ...(attributes('a', text('x'.repeat(1_000))) as object),
      body: 'x'.repeat(20),
    }
    assert.equal(refusal(message), 'message_too_large message')
  })
})
