/** The ways in which a handler can end other than by returning a result or throwing. */
import { type HandlerOutcome, outcomeKind as outcome } from '../contracts/handler-outcome.ts'
import { type Duration, durationMs } from '../core/durations.ts'

export { type HandlerOutcome, outcome as outcomeKind }

/** Again after this long, whatever the backoff says; the attempt counts. */
export function retryIn(delay: Duration, reason?: string): HandlerOutcome {
  return { [outcome]: 'retry', delayMs: durationMs(delay, 'delay'), reason }
}

/** Handed back untouched, as if it had not been started: the attempt does not count. */
export function release(): HandlerOutcome {
  return { [outcome]: 'release' }
}

/** To the dead-letter queue now. The reason is kept and shown, so it must not quote the payload. */
export function deadLetter(reason: string): HandlerOutcome {
  return { [outcome]: 'dead_letter', reason }
}

export function isOutcome(returned: unknown): returned is HandlerOutcome {
  return typeof returned === 'object' && returned !== null && outcome in returned
}

/** Thrown by a handler for which trying again is pointless: the job fails now. */
export class UnrecoverableError extends Error {
  override readonly name = 'UnrecoverableError'
}
