/** What a handler may return, and how it can end besides returning a result or throwing an error. */
import { type Duration, durationMs } from '../core/durations.ts'

/** Distinguishes an outcome from a result with the same fields. */
export const outcomeKind: unique symbol = Symbol('outcome of a handler')

export type HandlerOutcome =
  | {
      readonly [outcomeKind]: 'retry'
      readonly delayMs: number
      readonly reason: string | undefined
    }
  | { readonly [outcomeKind]: 'release' }
  | { readonly [outcomeKind]: 'dead_letter'; readonly reason: string }

export type HandlerReturn<Result> = Result | HandlerOutcome | Promise<Result | HandlerOutcome>

/** Return it to run the job again after this delay, regardless of the backoff. The attempt counts. */
export function retryIn(delay: Duration, reason?: string): HandlerOutcome {
  return { [outcomeKind]: 'retry', delayMs: durationMs(delay, 'delay'), reason }
}

/** Return it to release the job as if it had not been started. The attempt does not count. */
export function release(): HandlerOutcome {
  return { [outcomeKind]: 'release' }
}

/** Return it to dead-letter the job now. The reason is stored and shown, so it must not quote the payload. */
export function deadLetter(reason: string): HandlerOutcome {
  return { [outcomeKind]: 'dead_letter', reason }
}

export function isOutcome(returned: unknown): returned is HandlerOutcome {
  return typeof returned === 'object' && returned !== null && outcomeKind in returned
}

/** Throw it if retrying is pointless. The job fails now. */
export class UnrecoverableError extends Error {
  override readonly name = 'UnrecoverableError'
}
