import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { checkQueueName, checkQueueSettings, checkTags, isFifoName } from './check-queue.ts'
import type { Violations } from './checks.ts'

function fieldsRefused(run: (into: Violations) => void): readonly string[] {
  const violations: Violations = []
  run(violations)
  return violations.map(({ field }) => field)
}

describe('the name of a queue', () => {
  test.each(['a', 'Video_Jobs-2', 'attempts.fifo', 'a'.repeat(80), `${'a'.repeat(75)}.fifo`])(
    'may be %s',
    (name) => {
      assert.deepEqual(
        fieldsRefused((into) => checkQueueName(into, 'queue', name)),
        [],
      )
    },
  )

  test.each([
    '',
    '.fifo',
    'a b',
    'a.b',
    'a.fifo.fifo',
    'ä',
    'a\n',
    'a'.repeat(81),
    7,
    null,
    undefined,
  ])('may not be %j', (name) => {
    assert.deepEqual(
      fieldsRefused((into) => checkQueueName(into, 'queue', name)),
      ['queue'],
    )
  })

  test('may not be longer than 80 characters with its suffix', () => {
    const name = `${'a'.repeat(76)}.fifo`
    assert.deepEqual(
      fieldsRefused((into) => checkQueueName(into, 'queue', name)),
      ['queue'],
    )
  })

  test('tells a FIFO queue', () => {
    assert.deepEqual(['a.fifo', 'a', 'fifo'].map(isFifoName), [true, false, false])
  })
})

describe('the settings of a queue', () => {
  const refused = (settings: Readonly<Record<string, unknown>>): readonly string[] =>
    fieldsRefused((into) => checkQueueSettings(into, 'settings', settings))

  test('are accepted within their limits', () => {
    const settings = {
      type: 'fifo',
      visibilityMs: 0,
      delayMs: 900_000,
      retentionMs: 60_000,
      receiveWaitMs: 20_000,
      messageBytesMax: 1_024,
      deadLetter: { queue: 'dead.fifo', maxReceives: 1 },
      deadLetterSources: ['one', 'two'],
      deduplicateByContent: true,
      deduplicationScope: 'group',
      annotations: { policy: '{}' },
    }
    assert.deepEqual(refused(settings), [])
    assert.deepEqual(refused({ deadLetter: null, deadLetterSources: 'none' }), [])
    assert.deepEqual(refused({ visibilityMs: undefined }), [])
  })

  test.each<[string, unknown]>([
    ['type', 'priority'],
    ['visibilityMs', 43_200_001],
    ['visibilityMs', 0.5],
    ['visibilityMs', '5'],
    ['delayMs', -1],
    ['retentionMs', 59_999],
    ['receiveWaitMs', 20_001],
    ['messageBytesMax', 1_023],
    ['deduplicateByContent', 'yes'],
    ['deduplicationScope', 'messageGroup'],
    ['annotations', { policy: 1 }],
    ['annotations', []],
    ['deadLetter', 'dead'],
    ['deadLetter', { queue: 'dead' }],
    ['deadLetterSources', 'some'],
    ['deadLetterSources', []],
    ['deadLetterSources', Array.from({ length: 11 }, () => 'a')],
    ['deadLetterSources', ['a b']],
    ['colour', 'blue'],
  ])('are refused outside them: %s %j', (key, value) => {
    assert.deepEqual(refused({ [key]: value }), [`settings.${key}`])
  })

  test('are refused with a dead-letter queue that cannot be', () => {
    assert.deepEqual(refused({ deadLetter: { queue: 'a b', maxReceives: 0 } }), [
      'settings.deadLetter.queue',
      'settings.deadLetter.maxReceives',
    ])
  })
})

describe('the tags of a queue', () => {
  const refused = (tags: unknown): readonly string[] =>
    fieldsRefused((into) => checkTags(into, 'tags', tags))
  const many = (count: number): unknown =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`tag${index}`, '']))

  test('are accepted within their limits', () => {
    assert.deepEqual(refused({ ['k'.repeat(128)]: 'v'.repeat(256) }), [])
    assert.deepEqual(refused(many(50)), [])
  })

  test('are refused outside them', () => {
    assert.deepEqual(refused(many(51)), ['tags'])
    assert.deepEqual(refused({ ['k'.repeat(129)]: '' }), ['tags: key'])
    assert.deepEqual(refused({ team: 'v'.repeat(257) }), ['tags.team'])
    assert.deepEqual(refused({ team: 7 }), ['tags'])
    assert.deepEqual(refused(null), ['tags'])
  })
})
