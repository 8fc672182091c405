import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { type BatchMessage, judgeBatch } from './batch-response.ts'

const batch: readonly BatchMessage[] = [
  { id: 'a1', group: 'a' },
  { id: 'b1', group: 'b' },
  { id: 'a2', group: 'a' },
  { id: 'a3', group: 'a' },
]

function judged(response: unknown, isFifo = false): { failed: string[]; problem: string | null } {
  const { failed, problem } = judgeBatch({ response: JSON.stringify(response), batch, isFifo })
  return { failed: [...failed], problem }
}

const failures = (...ids: unknown[]): unknown => ({
  batchItemFailures: ids.map((itemIdentifier) => ({ itemIdentifier })),
})

describe('the response of a function that reports failures', () => {
  test.each([
    ['nothing', null],
    ['an empty object', {}],
    ['an object about something else', { statusCode: 200 }],
    ['no list', { batchItemFailures: null }],
    ['an empty list', { batchItemFailures: [] }],
  ])('is complete success when it is %s', (_, response) => {
    assert.deepEqual(judged(response), { failed: [], problem: null })
  })

  test('names the messages to retry', () => {
    assert.deepEqual(judged(failures('a3', 'b1', 'b1')), { failed: ['a3', 'b1'], problem: null })
  })

  test.each([
    ['a text', 'done', /not an object/],
    ['a number', 7, /not an object/],
    ['a list', [], /not an object/],
    ['an object in place of the list', { batchItemFailures: {} }, /not an array/],
    ['an empty id', failures('b1', ''), /batchItemFailures\[1\] has no itemIdentifier/],
    ['an id that is null', failures(null), /has no itemIdentifier/],
    ['an id that is a number', failures(1), /has no itemIdentifier/],
    ['a misspelt key', { batchItemFailures: [{ itemidentifier: 'b1' }] }, /has no itemIdentifier/],
    ['an id without its object', { batchItemFailures: ['b1'] }, /has no itemIdentifier/],
    ['an id that was not in the batch', failures('b1', 'zz'), /\[1\] names no message/],
  ])('fails the whole batch when it is %s', (_, response, problem) => {
    const verdict = judged(response)
    assert.deepEqual(verdict.failed, ['a1', 'b1', 'a2', 'a3'])
    assert.match(verdict.problem ?? '', problem)
  })

  test('quotes nothing of the response', () => {
    assert.doesNotMatch(judged(failures('secret')).problem ?? '', /secret/)
  })
})

describe('in a FIFO queue', () => {
  test('what stands behind a failed message of its group has failed too', () => {
    assert.deepEqual(judged(failures('a2'), true).failed, ['a2', 'a3'])
  })

  test('other groups are not held up', () => {
    assert.deepEqual(judged(failures('a1'), true).failed, ['a1', 'a2', 'a3'])
    assert.deepEqual(judged(failures('b1'), true).failed, ['b1'])
  })
})
