/** Maps errors of the store and of attribute rules to errors of SQS. Actions may use more specific errors. */
import type { ErrorCode } from '../../core/error-codes.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import { renameFields } from '../../core/rename-fields.ts'
import { AttributeRefusal } from '../../sqs/attribute-refusal.ts'
import { sentJobAttributes } from '../../sqs/job-attributes.ts'
import { SqsError, type SqsErrorName } from './sqs-error.ts'

export const queueDoesNotExist = 'The specified queue does not exist.'

interface Translation {
  readonly kind: SqsErrorName
  /** Default: the text of the store. */
  readonly message?: string
}

const invalid: Translation = { kind: 'InvalidParameterValueException' }
const unexpected = {
  kind: 'InternalFailure',
  message: 'The request processing has failed because of an unknown error, exception or failure.',
} as const satisfies Translation
const unavailable: Translation = {
  kind: 'ServiceUnavailable',
  message: 'The request has failed due to a temporary failure of the server.',
}

const translations: Readonly<Record<ErrorCode, Translation>> = {
  invalid_argument: invalid,
  invalid_message: { kind: 'InvalidMessageContents' },
  message_too_large: invalid,
  tier_refused: invalid,
  idempotency_conflict: invalid,
  message_group_missing: {
    kind: 'MissingRequiredParameterException',
    message: 'The request must contain the parameter MessageGroupId.',
  },
  deduplication_id_missing: {
    kind: 'InvalidParameterValueException',
    message:
      'The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly',
  },
  unsupported: { kind: 'UnsupportedOperation' },
  queue_not_found: { kind: 'QueueDoesNotExist', message: queueDoesNotExist },
  queue_exists: { kind: 'QueueNameExists' },
  queue_deleted_recently: {
    kind: 'QueueDeletedRecently',
    message:
      'You must wait 60 seconds after deleting a queue before you can create another with the same name.',
  },
  purge_in_progress: { kind: 'PurgeQueueInProgress' },
  dead_letter_missing: invalid,
  receipt_invalid: { kind: 'ReceiptHandleIsInvalid' },
  in_flight_limit: {
    kind: 'OverLimit',
    message:
      'Too many messages have been received without being deleted. Please delete your received messages or let them timeout before receiving more.',
  },
  move_task_not_found: { kind: 'ResourceNotFoundException' },
  move_task_running: { kind: 'UnsupportedOperation' },
  not_a_dead_letter_queue: invalid,
  aborted: unavailable,
  store_closed: unavailable,
  store_busy: unavailable,
  store_unreachable: unavailable,
  carrier_unreachable: unavailable,
  carrier_failed: unavailable,
  store_full: unavailable,
  store_failed: unavailable,
  store_replaced: unavailable,

  // No SQS action can cause these.
  invalid_contract: unexpected,
  job_not_found: unexpected,
  job_finished: unexpected,
  job_running: unexpected,
  job_not_finished: unexpected,
  wait_timed_out: unexpected,
  send_failed: unexpected,
  carrier_unusable: unexpected,
  flow_not_found: unexpected,
  budget_not_found: unexpected,
  schedule_not_found: unexpected,
  schedule_ticked: unexpected,
  alarm_not_found: unexpected,
  unit_not_found: unexpected,
  flow_sealed: unexpected,
  flow_finished: unexpected,
  within_failed: unexpected,
  store_corrupt: unexpected,
  encryption_key_missing: unexpected,
  encryption_key_wrong: unexpected,
  encryption_failed: unexpected,
  store_foreign: unexpected,
  store_too_new: unexpected,
  store_not_found: unexpected,
  store_unusable: unexpected,
  backup_failed: unexpected,
  file_exists: unexpected,
  address_unavailable: unexpected,
}

/** Converts any other error to an `SqsError`. The text of an unknown error only goes to the log. */
export function storeError(error: unknown): SqsError {
  if (error instanceof AttributeRefusal) {
    const { code, message } = error
    const kind = code === 'InvalidParameterValue' ? 'InvalidParameterValueException' : code
    return new SqsError(kind, message)
  }
  if (!(error instanceof MillraceError)) {
    return new SqsError(unexpected.kind, unexpected.message, { cause: error })
  }
  const { kind, message } = translations[error.code]
  const text = message ?? renameFields(error, parameters).message
  return new SqsError(kind, text, { cause: error })
}

/** The SQS names of fields that the store may reject. */
const parameters: ReadonlyMap<string, string> = new Map([
  ['deadLetter.queue', 'RedrivePolicy'],
  ['deadLetterSources', 'RedriveAllowPolicy'],
  ['delayMs', 'DelaySeconds'],
  ['group', 'MessageGroupId'],
  ['deduplicationId', 'MessageDeduplicationId'],
  ['type', sentJobAttributes.type],
  ['owner', sentJobAttributes.owner],
  ['idempotency.key', sentJobAttributes.idempotencyKey],
  ['maxAttempts', sentJobAttributes.maxAttempts],
])
