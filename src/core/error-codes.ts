/**
 * All error codes of Millrace. Codes are stable and part of the public API; each surface maps them to its own
 * form. Messages never contain payloads. `retryable` means that the same call may succeed later.
 */
export const errorCodes = {
  invalid_argument: { retryable: false, message: 'An argument is not valid.' },
  invalid_contract: { retryable: false, message: 'The declaration of the app is not valid.' },
  invalid_message: { retryable: false, message: 'The message does not match its contract.' },
  message_too_large: {
    retryable: false,
    message: 'The message is larger than the maximum size of the queue.',
  },
  message_group_missing: {
    retryable: false,
    message: 'A message for a FIFO queue needs a message group.',
  },
  deduplication_id_missing: {
    retryable: false,
    message:
      'A message for a FIFO queue needs a deduplication id, or a queue with content deduplication.',
  },
  unsupported: { retryable: false, message: 'The backend does not support this.' },

  queue_not_found: { retryable: false, message: 'The queue does not exist.' },
  queue_exists: {
    retryable: false,
    message: 'A queue with this name already exists with other settings.',
  },
  queue_deleted_recently: {
    retryable: true,
    message: 'A queue with this name was deleted recently. Wait before creating it again.',
  },
  purge_in_progress: {
    retryable: true,
    message: 'The queue was purged recently. Wait before purging it again.',
  },
  dead_letter_missing: { retryable: false, message: 'The queue has no dead-letter queue.' },

  receipt_invalid: { retryable: false, message: 'The receipt does not belong to this queue.' },
  in_flight_limit: {
    retryable: true,
    message: 'The queue has reached its limit of messages in flight. Settle some first.',
  },

  move_task_not_found: {
    retryable: false,
    message: 'The move task does not exist, or it has ended.',
  },
  move_task_running: {
    retryable: true,
    message: 'A move task of this source queue is already running.',
  },
  not_a_dead_letter_queue: {
    retryable: false,
    message: 'The source of a move task must be a dead-letter queue that another queue uses.',
  },

  tier_refused: { retryable: false, message: 'The tier does not run jobs of this type.' },
  job_not_found: { retryable: false, message: 'The job does not exist.' },
  job_finished: {
    retryable: false,
    message: 'The job has finished and cannot be changed.',
  },
  job_running: {
    retryable: false,
    message: 'The job is being run. Only a job that waits can be moved to another time.',
  },
  job_not_finished: {
    retryable: false,
    message: 'Only a failed or cancelled job can be retried.',
  },
  wait_timed_out: {
    retryable: true,
    message: 'The job did not finish within the wait time.',
  },
  idempotency_conflict: {
    retryable: false,
    message: 'The idempotency key was already used with another payload.',
  },

  flow_not_found: { retryable: false, message: 'The flow does not exist, or it was removed.' },
  unit_not_found: { retryable: false, message: 'The unit does not exist in this flow.' },
  flow_sealed: {
    retryable: false,
    message: 'The flow is sealed, so no units can be added.',
  },
  flow_finished: {
    retryable: false,
    message: 'The flow has ended. This is only possible for an open flow.',
  },
  within_failed: {
    retryable: false,
    message: 'The callback `within` failed, so the settlement was rolled back.',
  },

  budget_not_found: { retryable: false, message: 'No app declares this budget.' },
  schedule_not_found: { retryable: false, message: 'The schedule does not exist.' },
  schedule_ticked: {
    retryable: true,
    message: 'The schedule has ticked meanwhile. Work out its next tick again.',
  },

  alarm_not_found: { retryable: false, message: 'The alarm does not exist.' },

  carrier_unreachable: {
    retryable: true,
    message: 'The carrier of the queue cannot be reached. The call can be repeated.',
  },
  carrier_failed: { retryable: true, message: 'The carrier of the queue refused the call.' },
  carrier_unusable: {
    retryable: false,
    message: 'The carrier of the queue cannot be used as it is set up.',
  },

  send_failed: { retryable: true, message: 'SQS did not accept the message.' },

  aborted: { retryable: true, message: 'The operation was aborted before it began.' },
  store_closed: { retryable: false, message: 'The store is closed.' },
  store_busy: { retryable: true, message: 'Another process locked the store for too long.' },
  store_unreachable: {
    retryable: true,
    message: 'The database server cannot be reached. The call can be repeated.',
  },
  store_full: { retryable: true, message: 'The disk that holds the store is full.' },
  store_failed: {
    retryable: true,
    message: 'The store could not write. The operation had no effect.',
  },
  store_corrupt: {
    retryable: false,
    message:
      'The store is damaged. Restore a backup, or move the file away to start with an empty store.',
  },
  store_foreign: {
    retryable: false,
    message: 'The file or schema is not a Millrace store. Choose another one, or move it away.',
  },
  store_too_new: {
    retryable: false,
    message: 'The store was written by a newer version of Millrace. Upgrade Millrace to open it.',
  },
  store_not_found: { retryable: false, message: 'The store does not exist.' },
  store_unusable: {
    retryable: false,
    message: 'The store cannot be opened in this directory or database.',
  },
  encryption_key_missing: {
    retryable: false,
    message: 'The store is sealed with a key that is not given.',
  },
  encryption_key_wrong: {
    retryable: false,
    message: 'The store is sealed with another key of this id.',
  },
  encryption_failed: {
    retryable: false,
    message: 'A sealed text in the store cannot be opened: it is damaged, or was changed.',
  },
  store_replaced: {
    retryable: false,
    message:
      'A file of the open store was removed, moved or replaced. Writing has stopped; restart the program.',
  },
  backup_failed: { retryable: true, message: 'The backup could not be written.' },
  file_exists: {
    retryable: false,
    message: 'The file already exists. Choose another path, or move the file away.',
  },
  address_unavailable: { retryable: false, message: 'The server cannot listen on this address.' },
} as const

export type ErrorCode = keyof typeof errorCodes
