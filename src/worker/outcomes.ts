/** How a handler can end besides returning a result or throwing an error. */
import { type HandlerOutcome, outcomeKind as outcome } from '../contracts/handler-outcome.ts'
import { type Duration, durationMs } from '../core/durations.ts'

export { type HandlerOutcome, outcome as outcomeKind }

/** Return it to run the job again after this delay, regardless of the backoff. The attempt counts. */
export function retryIn(delay: Duration, reason?: string): HandlerOutcome {
  return { [outcome]: 'retry', delayMs: durationMs(delay, 'delay'), reason }
}

/** Return it to release the job as if it had not been started. The attempt does not count. */
export function release(): HandlerOutcome {
  return { [outcome]: 'release' }
}

/** Return it to dead-letter the job now. The reason is stored and shown, so it must not quote the payload. */
export function deadLetter(reason: string): HandlerOutcome {
  return { [outcome]: 'dead_letter', reason }
}

export function isOutcome(returned: unknown): returned is HandlerOutcome {
  return typeof returned === 'object' && returned !== null && outcome in returned
}

/** Throw it if retrying is pointless. The job fails now. */
export class UnrecoverableError extends Error {
  override readonly name = 'UnrecoverableError'
}
