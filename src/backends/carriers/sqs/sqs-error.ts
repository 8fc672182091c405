/**
 * What an error of the AWS SDK means for a program, in one line. The texts of SQS are not quoted: they may
 * contain parts of messages. They are in the cause.
 */
import type { ErrorCode } from '../../../core/error-codes.ts'
import { MillraceError } from '../../../core/millrace-error.ts'
import type { FailedEntry } from '../../../sqs/batch-call.ts'
import { sdkReasonOf } from '../../../sqs/sdk-error.ts'

export interface ErrorScene {
  /** As SQS names it. */
  readonly action: string
  readonly queue?: string | undefined
}

export function sqsError(error: unknown, scene: ErrorScene): MillraceError {
  if (error instanceof MillraceError) return error
  const { reason } = sdkReasonOf(error)
  const code = codeIn(error)
  const [kind, text] = /^Region is missing/.test(reason)
    ? ([
        'carrier_unusable',
        'SQS needs a region: set AWS_REGION, or give `client.region`.',
      ] as const)
    : (meaningOf(code, scene) ?? meaningOfStatus(error, code, scene))
  return new MillraceError(kind, { message: text, cause: error })
}

/** Why SQS refused one entry of a batch. */
export function entryError({ Code = '' }: FailedEntry, scene: ErrorScene): MillraceError {
  const code = plain(Code)
  const [kind, message] = meaningOf(code, scene) ?? [
    'carrier_unreachable',
    `SQS could not do ${places(scene)} (${code || 'no code'}). The call can be repeated.`,
  ]
  return new MillraceError(kind, { message })
}

/** The code of SQS in an error of this file, such as `ReceiptHandleIsInvalid`; empty without one. */
export function sqsCodeOf(error: MillraceError): string {
  return error.cause === undefined ? '' : codeIn(error.cause)
}

type Meaning = readonly [code: ErrorCode, text: string]

function meaningOf(code: string, scene: ErrorScene): Meaning | undefined {
  const { action, queue } = scene
  if (unknownQueue.test(code)) {
    return ['queue_not_found', `SQS has no queue '${queue}' that these credentials may see.`]
  }
  if (code === 'PurgeQueueInProgress') {
    return [
      'purge_in_progress',
      `SQS purged queue '${queue}' within the last minute. Wait before purging it again.`,
    ]
  }
  if (code === 'QueueDeletedRecently') {
    return [
      'queue_deleted_recently',
      `Queue '${queue}' was deleted at SQS within the last minute. Wait before creating it again.`,
    ]
  }
  if (code === 'OverLimit' && action === 'ReceiveMessage') {
    return [
      'in_flight_limit',
      `Queue '${queue}' has as many messages in flight as SQS allows. Settle some first.`,
    ]
  }
  if (code === 'AbortError') return ['aborted', `The call of ${places(scene)} was aborted.`]
  if (busy.test(code)) {
    return ['carrier_unreachable', `SQS limits ${places(scene)} (${code}). It can be repeated.`]
  }
  if (denied.test(code)) {
    const permission = `sqs:${action.replace('Batch', '')}`
    const advice = `Check the credentials, and that they may do ${permission}.`
    return ['carrier_unusable', `SQS refused ${places(scene)} (${code}). ${advice}`]
  }
  return undefined
}

const unknownQueue = /^(QueueDoesNotExist|NonExistentQueue)$/
const busy = /throttl|^OverLimit$|^TooManyRequests|^RequestLimitExceeded$|^SlowDown$|^ExpiredToken/i
const denied =
  /^(AccessDenied|InvalidClientTokenId|UnrecognizedClient|SignatureDoesNotMatch|IncompleteSignature|InvalidSignature|MissingAuthenticationToken|InvalidToken|InvalidSecurity|InvalidAccessKeyId|AuthFailure|OptInRequired|RequestTimeTooSkewed|RequestExpired|CredentialsProviderError|InvalidAddress|Kms)/

function meaningOfStatus(error: unknown, code: string, scene: ErrorScene): Meaning {
  const { $metadata, $response } = Object(error) as SdkError
  const status = $response?.statusCode ?? $metadata?.httpStatusCode
  const isLost = status === undefined && (/^E[A-Z_]+$/.test(code) || /Timeout|Network/.test(code))
  if (isLost || (status !== undefined && (status >= 500 || status === 429))) {
    const at = status === undefined ? code : `${code}, status ${status}`
    return ['carrier_unreachable', `SQS cannot be reached for ${places(scene)} (${at}).`]
  }
  return ['carrier_failed', `SQS refused ${places(scene)} (${code}).`]
}

interface SdkError {
  readonly $metadata?: { readonly httpStatusCode?: number }
  readonly $response?: { readonly statusCode?: number }
}

function places({ action, queue }: ErrorScene): string {
  return queue === undefined ? action : `${action} on queue '${queue}'`
}

function codeIn(error: unknown): string {
  return plain(sdkReasonOf(error).code)
}

/** `AWS.SimpleQueueService.NonExistentQueue` and `com.amazonaws.sqs#QueueDoesNotExist` have a prefix. */
function plain(code: string): string {
  return code.replace(/^.*[.#]/, '').slice(0, 80)
}
