/** A record that a function could not handle, and how it is reported by default. */
import { errorSummary } from '../core/error-summary.ts'
import { isError } from '../core/is-error.ts'

export interface FailedRecord {
  /** The key of the queue. */
  readonly queue: string
  readonly messageId: string
  /** The job type; null for a message that is not a job. */
  readonly type: string | null
  /** How many times the record was received, including this time. */
  readonly attempt: number
  /**
   * `threw`: the handler failed. `unreadable`: the body does not fit the contract. `held`: a kill switch is
   * on. `timeout`: the function had no time left. `lost`: another receiver has the message.
   */
  readonly why: 'threw' | 'unreadable' | 'held' | 'timeout' | 'lost'
  readonly error: unknown
  /** The error in one line, without secret or personal values of the message. */
  readonly summary: string
}

/** @param hide values of the message that no text may quote */
export function failureText(
  { queue, type, messageId, attempt, summary, why, error }: FailedRecord,
  hide: readonly string[] = [],
): string {
  const what = type === null ? `message ${messageId}` : `${type} ${messageId}`
  const first = `${queue}: ${what} failed in attempt ${attempt}: ${summary}`
  if (why !== 'threw' || !isError(error)) return first
  const frames = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line))
  return [first, ...frames.map((frame) => `    ${errorSummary(frame, hide)}`)].join('\n')
}

/** On AWS, one call of `console.error` is one event in the log. */
export function printFailure(failure: FailedRecord, hide: readonly string[]): void {
  // biome-ignore lint/suspicious/noConsole: the console is the log of a function
  console.error(failureText(failure, hide))
}
