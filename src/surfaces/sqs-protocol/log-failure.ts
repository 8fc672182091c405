/** Logs failed requests, without bodies: server errors at level error, others at debug. */
import { errorCodes } from '../../core/error-codes.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import type { Logger } from '../../observability/logger.ts'
import type { Failure } from './failure.ts'
import { SqsError } from './sqs-error.ts'

export interface FailedRequest {
  readonly requestId: string
  readonly action: string | null
  readonly failure: Failure
  readonly error: unknown
}

export function logFailure(
  log: Logger,
  { requestId, action, failure, error }: FailedRequest,
): void {
  const { status, queryCode } = failure
  const fields = { request_id: requestId, action, status, code: queryCode }
  if (status < 500) log.debug(fields, 'sqs request refused')
  else log.error({ ...fields, ...causeOf(error) }, 'sqs request failed')
}

/**
 * Our own texts are safe to log, also as the cause of another error. Of other errors only the class and the
 * position are safe: a message may quote data, and a path reveals details of the machine.
 */
function causeOf(error: unknown): { readonly error: string; readonly at?: string } {
  if (error instanceof MillraceError) return { error: errorCodes[error.code].message }
  if (!(error instanceof Error)) return { error: typeof error }
  if (error.cause instanceof MillraceError) return causeOf(error.cause)
  // For server errors, this text quotes no data.
  if (error instanceof SqsError) return { error: error.message }
  const [, at] = /^\s+at (.+)$/m.exec(error.stack ?? '') ?? []
  return { error: error.name, ...(at !== undefined && { at: withoutFolders(at) }) }
}

function withoutFolders(place: string): string {
  return place.replace(/(^|\()[^()]*[/\\]/, '$1')
}
