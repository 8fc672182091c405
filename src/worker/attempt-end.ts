/** From the way in which a handler ended to the outcome that is settled, as one pure rule. */
import type { Outcome } from '../backends/backend.ts'
import { type BackoffPolicy, backoffMs } from '../core/backoff.ts'
import { errorSummary } from '../core/error-summary.ts'
import type { AbortKind } from './abort-reason.ts'
import { type HandlerOutcome, outcomeKind } from './outcomes.ts'

export type AttemptEnd =
  | { readonly how: 'returned'; readonly result: string | undefined }
  | { readonly how: 'chose'; readonly outcome: HandlerOutcome }
  | { readonly how: 'threw'; readonly error: unknown }
  /** The handler went on after it had been asked to stop. */
  | { readonly how: 'given_up' }

export interface AttemptCircumstances {
  readonly attempt: number
  /** Null when nothing counts the attempts. */
  readonly maxAttempts: number | null
  readonly backoff: BackoffPolicy
  /** Whether there is somewhere to go for what has failed: jobs end there, messages need a queue. */
  readonly canFail: boolean
  readonly abortKind: AbortKind | undefined
  /** Values that must not be part of an error's text. */
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
      return afterFailure(end.error, circumstances)
    case 'given_up':
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
      return again(delayMs, error ?? 'The handler asked to be run again.', circumstances)
    }
    case 'dead_letter': {
      const reason = errorSummary(outcome.reason, hide)
      return canFail ? { kind: 'deadLetter', reason } : laterOf(reason, circumstances)
    }
  }
}

function afterFailure(error: unknown, circumstances: AttemptCircumstances): Outcome {
  const { abortKind, hide, canFail } = circumstances
  // It was stopped by us and not by its own fault.
  if (abortKind === 'shutdown') return { kind: 'release' }
  if (abortKind === 'timeout') {
    const text = 'The handler took longer than it may.'
    return again(waitMs(circumstances), text, circumstances)
  }
  const summary = errorSummary(error, hide)
  if (isUnrecoverable(error) && canFail) return { kind: 'deadLetter', reason: summary }
  return again(waitMs(circumstances), summary, circumstances)
}

/** Once more, unless this was the last attempt. */
function again(delayMs: number, error: string, circumstances: AttemptCircumstances): Outcome {
  const { attempt, maxAttempts, canFail } = circumstances
  const isLast = maxAttempts !== null && attempt >= maxAttempts
  if (isLast && canFail) return { kind: 'deadLetter', reason: error }
  return { kind: 'retry', delayMs, error }
}

function laterOf(error: string, circumstances: AttemptCircumstances): Outcome {
  return { kind: 'retry', delayMs: waitMs(circumstances), error }
}

function waitMs({ backoff, attempt, chance }: AttemptCircumstances): number {
  return backoffMs(backoff, attempt, chance)
}

/** By name: BullMQ has an error of this name too, and handlers that are moved here may throw it. */
function isUnrecoverable(error: unknown): boolean {
  return error instanceof Error && error.name === 'UnrecoverableError'
}
