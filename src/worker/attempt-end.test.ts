import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import type { Outcome } from '../backends/backend.ts'
import { deadLetter, release, retryIn, UnrecoverableError } from '../contracts/handler-outcome.ts'
import type { Failure } from '../core/failure.ts'
import { type AttemptCircumstances, type AttemptEnd, outcomeOf } from './attempt-end.ts'

const backoff = { fromMs: 1_000, factor: 2, maxMs: 60_000, jitter: 0.5 }

const usual: AttemptCircumstances = {
  attempt: 2,
  maxAttempts: 3,
  backoff,
  canFail: true,
  abortKind: undefined,
  hide: ['topsecret'],
  chance: 0.5,
}
/** After the second attempt: 2 s, of which half is left to chance, and half of that came. */
const waitMs = 1_500

const last = { attempt: 3 }
const endless = { maxAttempts: null }
const nowhere = { canFail: false }

const threw = (error: unknown): AttemptEnd => ({ how: 'threw', error })
const chose = (outcome: ReturnType<typeof release>): AttemptEnd => ({ how: 'chose', outcome })
const deadLettered = (reason: string): object => ({ kind: 'deadLetter', reason })
const retried = (error: string, delayMs = waitMs): object => ({ kind: 'retry', delayMs, error })

const done: AttemptEnd = { how: 'returned', result: '{"pages":3}' }
const nothing: AttemptEnd = { how: 'returned', result: undefined }
const abandoned: AttemptEnd = { how: 'abandoned' }
const unrecoverable = threw(new UnrecoverableError('no topsecret'))
const tooLong = 'The handler exceeded its timeout.'
const nothingThrown = 'A value of type undefined was thrown.'

const withFailure = (outcome: Outcome): Outcome & { readonly failure?: Failure } => outcome

describe('the end of an attempt', () => {
  test.each<readonly [string, AttemptEnd, Partial<AttemptCircumstances>, object]>([
    ['a result', done, {}, { kind: 'acknowledge', result: '{"pages":3}' }],
    ['no result', nothing, {}, { kind: 'acknowledge' }],
    ['a result in the last attempt', done, last, { kind: 'acknowledge', result: '{"pages":3}' }],
    // Whatever it was asked meanwhile, its work is done.
    ['a result after a timeout', nothing, { abortKind: 'timeout' }, { kind: 'acknowledge' }],
    ['a result at a shutdown', nothing, { abortKind: 'shutdown' }, { kind: 'acknowledge' }],

    ['an error', threw(new Error('no topsecret')), {}, retried('no [hidden]')],
    ['an error that is none', threw('just text'), {}, retried('just text')],
    ['an error in the last attempt', threw(new Error('no')), last, deadLettered('no')],
    ['an error, nothing counts attempts', threw(new Error('no')), endless, retried('no')],
    [
      'an error in the last receive, no dead letters',
      threw(new Error('no')),
      { ...last, ...nowhere },
      retried('no', 3_000),
    ],
    ['an unrecoverable error', unrecoverable, {}, deadLettered('no [hidden]')],
    ['an unrecoverable error, no dead letters', unrecoverable, nowhere, retried('no [hidden]')],

    ['an error after a timeout', threw(new Error('x')), { abortKind: 'timeout' }, retried(tooLong)],
    [
      'a timeout in the last attempt',
      abandoned,
      { ...last, abortKind: 'timeout' },
      deadLettered(tooLong),
    ],
    [
      'an unrecoverable error after a timeout',
      unrecoverable,
      { abortKind: 'timeout' },
      retried(tooLong),
    ],
    [
      'an error at a shutdown',
      threw(new Error('x')),
      { abortKind: 'shutdown' },
      { kind: 'release' },
    ],
    [
      'a shutdown in the last attempt',
      abandoned,
      { ...last, abortKind: 'shutdown' },
      { kind: 'release' },
    ],
    [
      'an unrecoverable error at a shutdown',
      unrecoverable,
      { abortKind: 'shutdown' },
      { kind: 'release' },
    ],
    // The store will refuse these: the present holder of the lease decides.
    [
      'an error after a cancellation',
      threw(new Error('x')),
      { abortKind: 'cancelled' },
      retried('x'),
    ],
    ['an error without a lease', threw(new Error('x')), { abortKind: 'lease_lost' }, retried('x')],
    ['nothing, without a lease', abandoned, { abortKind: 'lease_lost' }, retried(nothingThrown)],

    ['release', chose(release()), {}, { kind: 'release' }],
    ['release in the last attempt', chose(release()), last, { kind: 'release' }],
    ['retryIn', chose(retryIn('7s', 'no topsecret')), {}, retried('no [hidden]', 7_000)],
    [
      'retryIn without a reason',
      chose(retryIn('0s')),
      {},
      retried('The handler returned retryIn().', 0),
    ],
    ['retryIn in the last attempt', chose(retryIn('7s', 'later')), last, deadLettered('later')],
    ['retryIn, nothing counts', chose(retryIn('7s', 'later')), endless, retried('later', 7_000)],
    ['deadLetter', chose(deadLetter('no topsecret')), {}, deadLettered('no [hidden]')],
    ['deadLetter, but there are none', chose(deadLetter('no')), nowhere, retried('no')],
    [
      'deadLetter in the last receive, but there are none',
      chose(deadLetter('no')),
      { ...last, ...nowhere },
      retried('no', 3_000),
    ],
  ])('%s', (_, end, circumstances, outcome) => {
    const { failure, ...rest } = withFailure(outcomeOf(end, { ...usual, ...circumstances }))
    assert.deepEqual(rest, outcome)
    const isFailure = end.how === 'threw' || end.how === 'abandoned'
    assert.equal(failure !== undefined, isFailure && rest.kind !== 'release')
    assert.doesNotMatch(JSON.stringify(failure ?? ''), /topsecret/)
  })
})

describe('the failure of an attempt', () => {
  const failureAfter = (error: unknown, circumstances: Partial<AttemptCircumstances> = {}) =>
    withFailure(outcomeOf(threw(error), { ...usual, ...circumstances })).failure

  test('is the error that was thrown, also after a timeout', () => {
    const error = new TypeError('no page', { cause: new Error('no topsecret') })
    for (const circumstances of [{}, last, { abortKind: 'timeout' as const }]) {
      const failure = failureAfter(error, circumstances)
      assert.deepEqual([failure?.name, failure?.message], ['TypeError', 'no page'])
      assert.match(failure?.stack ?? '', /attempt-end\.test\.ts/)
      assert.deepEqual(
        failure?.causes.map(({ message }) => message),
        ['no [hidden]'],
      )
    }
  })

  test('is the timeout when the handler has not ended', () => {
    const outcome = withFailure(outcomeOf(abandoned, { ...usual, abortKind: 'timeout' }))
    assert.equal(outcome.failure?.message, tooLong)
  })
})
