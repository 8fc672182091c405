/**
 * Every reason for which Millrace refuses or fails a call, once. Codes are stable and part of the public API;
 * each surface maps them to its own form. Messages never carry payloads. `retryable` says that the
 * same call may succeed later without being changed.
 */
export const errorCodes = {
  invalid_argument: { retryable: false, message: 'An argument is outside its limits.' },
  invalid_contract: { retryable: false, message: 'The app is not declared correctly.' },
  invalid_message: { retryable: false, message: 'The message does not match its contract.' },
  message_too_large: { retryable: false, message: 'The message is larger than the queue allows.' },
  message_group_missing: {
    retryable: false,
    message: 'A message for a FIFO queue needs a group.',
  },
  deduplication_id_missing: {
    retryable: false,
    message:
      'A message for a FIFO queue needs a deduplication id, or content deduplication on the queue.',
  },
  unsupported: { retryable: false, message: 'The backend does not support this.' },

  queue_not_found: { retryable: false, message: 'The queue does not exist.' },
  queue_exists: {
    retryable: false,
    message: 'A queue with this name exists with other settings.',
  },
  queue_deleted_recently: {
    retryable: true,
    message: 'A queue with this name was deleted a moment ago; wait before creating it again.',
  },
  purge_in_progress: {
    retryable: true,
    message: 'The queue was purged a moment ago; wait before purging it again.',
  },
  dead_letter_missing: { retryable: false, message: 'The queue has no dead-letter queue.' },

  receipt_invalid: { retryable: false, message: 'The receipt was not issued by this queue.' },
  in_flight_limit: {
    retryable: true,
    message: 'The queue has reached its limit of messages in flight.',
  },

  move_task_not_found: {
    retryable: false,
    message: 'The move task does not exist, or has ended.',
  },
  move_task_running: {
    retryable: true,
    message: 'Another move task of this source queue is running.',
  },
  not_a_dead_letter_queue: {
    retryable: false,
    message: 'The source of a move task must be a dead-letter queue.',
  },

  tier_refused: { retryable: false, message: 'The tier does not run jobs of this type.' },
  job_not_found: { retryable: false, message: 'The job does not exist.' },
  job_finished: {
    retryable: false,
    message: 'The job has finished and cannot be changed.',
  },
  job_not_finished: {
    retryable: false,
    message: 'Only a failed or cancelled job can be retried.',
  },
  wait_timed_out: {
    retryable: true,
    message: 'The job did not finish within the time to wait for it.',
  },
  idempotency_conflict: {
    retryable: false,
    message: 'The idempotency key was used before with another payload.',
  },

  flow_not_found: { retryable: false, message: 'The flow does not exist or was removed.' },
  unit_not_found: { retryable: false, message: 'The unit does not exist in this flow.' },
  flow_sealed: {
    retryable: false,
    message: 'The flow is sealed: no units can be added to it.',
  },
  flow_finished: {
    retryable: false,
    message: 'The flow has ended; this works only on an open flow.',
  },
  within_failed: {
    retryable: false,
    message: 'A write inside the settlement failed, and nothing was stored.',
  },

  schedule_not_found: { retryable: false, message: 'The schedule does not exist.' },

  alarm_not_found: { retryable: false, message: 'The alarm does not exist.' },

  aborted: { retryable: true, message: 'The caller aborted before the operation began.' },
  store_closed: { retryable: false, message: 'The store is closed.' },
  store_busy: { retryable: true, message: 'Another process held the store for too long.' },
  store_full: { retryable: true, message: 'The disk that holds the store is full.' },
  store_failed: {
    retryable: true,
    message: 'The store could not write to its disk; nothing of this operation was stored.',
  },
  store_corrupt: {
    retryable: false,
    message: 'The store file is damaged. Restore it from a backup, or move it away to start empty.',
  },
  store_foreign: {
    retryable: false,
    message: 'The file is not a Millrace store. Choose another path, or move the file away.',
  },
  store_too_new: {
    retryable: false,
    message: 'The store was written by a newer Millrace. Upgrade this program to open it.',
  },
  store_unusable: {
    retryable: false,
    message: 'The store cannot be opened at this path.',
  },
  store_replaced: {
    retryable: false,
    message:
      'A file of the open store was removed, moved or replaced. Nothing more is written; restart the program.',
  },
  backup_failed: { retryable: true, message: 'The backup could not be written.' },
  file_exists: {
    retryable: false,
    message: 'The file exists and is not overwritten. Choose another path, or move it away.',
  },
  address_unavailable: { retryable: false, message: 'The server cannot listen on this address.' },
} as const

export type ErrorCode = keyof typeof errorCodes
