/** Decides the outcome to settle from how a handler ended, as a pure function. */
import type { Outcome } from '../backends/backend.ts'
import { type HandlerOutcome, outcomeKind } from '../contracts/handler-outcome.ts'
import { type BackoffPolicy, backoffMs } from '../core/backoff.ts'
import { errorSummary } from '../core/error-summary.ts'
import { type Failure, failureOf } from '../core/failure.ts'
import type { AbortKind } from './abort-reason.ts'

export type AttemptEnd =
  | { readonly how: 'returned'; readonly result: string | undefined }
  | { readonly how: 'chose'; readonly outcome: HandlerOutcome }
  | {
      readonly how: 'threw'
      readonly error: unknown
      /** `false`: it must not run again. A delay replaces the wait of the backoff. */
      readonly retry?: false | { readonly delayMs: number }
    }
  /** The handler kept running after it was asked to stop. */
  | { readonly how: 'abandoned' }

export interface AttemptCircumstances {
  readonly attempt: number
  /** Null if attempts are not limited. */
  readonly maxAttempts: number | null
  readonly backoff: BackoffPolicy
  /** Whether a failure can be final. Jobs can always fail; messages need a dead-letter queue. */
  readonly canFail: boolean
  readonly abortKind: AbortKind | undefined
  /** Values that must not appear in the text of an error. */
  readonly hide: readonly string[]
  readonly chance: number
}

export function outcomeOf(end: AttemptEnd, circumstances: AttemptCircumstances): Outcome {
  switch (end.how) {
    case 'returned':
      return end.result === undefined
        ? { kind: 'acknowledge' }
        : { kind: 'acknowledge', result: end.result }
    case 'chose':
      return chosen(end.outcome, circumstances)
    case 'threw':
      return afterFailure(end.error, circumstances, end.retry)
    case 'abandoned':
      return afterFailure(undefined, circumstances)
  }
}

function chosen(outcome: HandlerOutcome, circumstances: AttemptCircumstances): Outcome {
  const { canFail, hide } = circumstances
  switch (outcome[outcomeKind]) {
    case 'release':
      return { kind: 'release' }
    case 'retry': {
      const { delayMs, reason } = outcome
      const error = reason === undefined ? undefined : errorSummary(reason, hide)
      return again({ delayMs, error: error ?? 'The handler returned retryIn().' }, circumstances)
    }
    case 'dead_letter': {
      const reason = errorSummary(outcome.reason, hide)
      if (canFail) return { kind: 'deadLetter', reason }
      return { kind: 'retry', delayMs: waitMs(circumstances), error: reason }
    }
  }
}

function afterFailure(
  error: unknown,
  circumstances: AttemptCircumstances,
  retry?: false | { readonly delayMs: number },
): Outcome {
  const { abortKind, hide, canFail } = circumstances
  // The worker stopped it, so it is not the handler's failure.
  if (abortKind === 'shutdown') return { kind: 'release' }
  const delayMs = waitMs(circumstances)
  if (abortKind === 'timeout') {
    const text = 'The handler exceeded its timeout.'
    return again({ delayMs, error: text, failure: failureOf(error ?? text, hide) }, circumstances)
  }
  const summary = errorSummary(error, hide)
  const failure = failureOf(error, hide)
  const isFinal = retry === false || isUnrecoverable(error)
  if (isFinal && canFail) return { kind: 'deadLetter', reason: summary, failure }
  const wait = retry ? retry.delayMs : delayMs
  return again({ delayMs: wait, error: summary, failure }, circumstances)
}

/** Retries, unless this was the last attempt. */
function again(
  { delayMs, error, ...failed }: FailedAttempt,
  { attempt, maxAttempts, canFail }: AttemptCircumstances,
): Outcome {
  const isLast = maxAttempts !== null && attempt >= maxAttempts
  if (isLast && canFail) return { kind: 'deadLetter', reason: error, ...failed }
  return { kind: 'retry', delayMs, error, ...failed }
}

interface FailedAttempt {
  readonly delayMs: number
  readonly error: string
  readonly failure?: Failure
}

function waitMs({ backoff, attempt, chance }: AttemptCircumstances): number {
  return backoffMs(backoff, attempt, chance)
}

/** By name: BullMQ has an error of the same name, and handlers ported from it may throw that. */
function isUnrecoverable(error: unknown): boolean {
  return error instanceof Error && error.name === 'UnrecoverableError'
}
