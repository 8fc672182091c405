import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { failureReport } from './print-failure.ts'
import type { Transition } from './transition-log.ts'

const failure = {
  name: 'TypeError',
  message: 'no such page',
  stack: 'at ocr (/worker.ts:9:13)',
  causes: [{ name: 'Error', message: 'connect failed', stack: '', code: 'ECONNREFUSED' }],
}

const usual: Transition = {
  event: 'retried',
  queue: 'scans',
  type: 'OCR',
  id: 'job-1',
  attempt: 1,
  maxAttempts: 3,
  traceId: null,
  durationMs: 12,
  waitedMs: null,
  error: 'TypeError: no such page',
  failure,
  cause: undefined,
  retryInMs: 5_432.1,
}

describe('the report of a failed attempt', () => {
  test('has type, id, attempt, what happens next, and the error with its causes', () => {
    assert.equal(
      failureReport(usual),
      [
        'job OCR job-1 of scans: attempt 1 of 3 failed, retry in 5s',
        '  TypeError: no such page',
        '      at ocr (/worker.ts:9:13)',
        '  caused by Error [ECONNREFUSED]: connect failed',
        '',
      ].join('\n'),
    )
  })

  test('states that there is no retry, and names the queue of a plain message', () => {
    const report = failureReport({ ...usual, event: 'failed', type: null, maxAttempts: null })
    assert.match(
      String(report),
      /^message job-1 of scans: attempt 1 failed, and there will be no retry\n/,
    )
  })

  test('has the summary where that is all, or where it has more than the error', () => {
    const refused = {
      ...usual,
      event: 'refused',
      error: 'invalid_message: page',
      failure: null,
    } as const
    assert.equal(
      failureReport(refused),
      'job OCR job-1 of scans: refused without a call to its handler\n  invalid_message: page\n',
    )
    const timeout = 'The handler exceeded its timeout.'
    assert.match(
      String(failureReport({ ...usual, error: timeout })),
      /\n {2}The handler exceeded its timeout\.\n {2}TypeError: no such page\n/,
    )
  })

  test.each(['started', 'completed', 'released', 'cancelled'] as const)(
    'does not exist for an attempt that has %s',
    (event) => {
      assert.equal(failureReport({ ...usual, event, failure: null, error: null }), undefined)
    },
  )

  test('does not exist for a retry that the handler asked for', () => {
    assert.equal(failureReport({ ...usual, failure: null, error: 'not ready yet' }), undefined)
  })
})
