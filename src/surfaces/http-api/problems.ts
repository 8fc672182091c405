/**
 * Everything that the API refuses or fails at, once: its status and its texts, and which of them
 * stands for each error of Millrace. The texts are for people who use an application, so they name
 * neither queues nor stores nor workers; the log has the exact code.
 */
import type { ErrorCode } from '../../core/error-codes.ts'

export interface ProblemKind {
  readonly status: 400 | 401 | 403 | 404 | 408 | 409 | 413 | 414 | 415 | 422 | 429 | 500 | 503
  readonly title: string
  readonly detail: string
  /** When it is worth asking again. */
  readonly retryAfterS?: number
}

export type ProblemCode =
  | 'invalid_request'
  | 'invalid_json'
  | 'unknown_queue'
  | 'tier_refused'
  | 'unauthenticated'
  | 'forbidden'
  | 'closed'
  | 'not_found'
  | 'no_app'
  | 'job_not_found'
  | 'switch_not_on'
  | 'item_not_found'
  | 'item_taken'
  | 'item_not_ready'
  | 'claim_not_yours'
  | 'claim_over'
  | 'body_timeout'
  | 'conflict'
  | 'job_finished'
  | 'job_not_finished'
  | 'too_large'
  | 'address_too_long'
  | 'unsupported_media_type'
  | 'idempotency_conflict'
  | 'rate_limited'
  | 'too_many_streams'
  | 'internal'
  | 'unavailable'

export const problems: Readonly<Record<ProblemCode, ProblemKind>> = {
  invalid_request: {
    status: 400,
    title: 'The request is not valid.',
    detail: 'Some fields are missing, unknown or outside their limits.',
  },
  invalid_json: {
    status: 400,
    title: 'The body is not valid JSON.',
    detail: 'The body must be one JSON value in UTF-8, nested at most 64 levels deep.',
  },
  unknown_queue: {
    status: 400,
    title: 'This address takes no jobs.',
    detail: 'The last part of the address is not one of those that take jobs.',
  },
  tier_refused: {
    status: 400,
    title: 'This tier does not take such jobs.',
    detail: 'Name another tier, or none.',
  },
  unauthenticated: {
    status: 401,
    title: 'Credentials are needed.',
    detail: 'Send a valid API key or bearer token.',
  },
  forbidden: {
    status: 403,
    title: 'This is not allowed.',
    detail: 'The credentials are valid, but not for this.',
  },
  closed: {
    status: 403,
    title: 'This is closed.',
    detail: 'This server has neither API keys nor a way to check tokens, and others can reach it.',
  },
  not_found: {
    status: 404,
    title: 'There is nothing here.',
    detail: 'There is nothing at this address.',
  },
  no_app: {
    status: 404,
    title: 'There is nothing here.',
    detail: 'This server was started without an app. Start it with --app to use this.',
  },
  job_not_found: {
    status: 404,
    title: 'There is no such job.',
    detail: 'The job does not exist, is no longer kept, or is not yours.',
  },
  switch_not_on: {
    status: 404,
    title: 'This switch is not on.',
    detail: 'There is nothing to lift. What the environment of a process has on ends with it.',
  },
  item_not_found: {
    status: 404,
    title: 'There is no such item.',
    detail: 'It does not exist, or somebody else is done with it.',
  },
  item_taken: {
    status: 409,
    title: 'Somebody has this item.',
    detail: 'It can be claimed when they give it back, or when their time is over.',
  },
  item_not_ready: {
    status: 409,
    title: 'This item cannot be claimed now.',
    detail: 'It is delayed, held, or behind another one that comes first.',
  },
  claim_not_yours: {
    status: 409,
    title: 'You do not have this item.',
    detail: 'Only the one who has claimed it can do this.',
  },
  claim_over: {
    status: 409,
    title: 'Your claim is over.',
    detail: 'It has run out. Claim the item again, if nobody else has.',
  },
  body_timeout: {
    status: 408,
    title: 'The body took too long.',
    detail: 'The body did not arrive in time. Send it again.',
  },
  conflict: {
    status: 409,
    title: 'This cannot be done now.',
    detail: 'The present state of things does not allow it.',
  },
  job_finished: {
    status: 409,
    title: 'The job has finished.',
    detail: 'What has finished cannot be cancelled.',
  },
  job_not_finished: {
    status: 409,
    title: 'The job cannot be tried again.',
    detail: 'Only a job that has failed or was cancelled can be tried again.',
  },
  too_large: {
    status: 413,
    title: 'The body is too large.',
    detail: 'Send less, or put it elsewhere and send where it is.',
  },
  address_too_long: {
    status: 414,
    title: 'The address is too long.',
    detail: 'The address with its parameters must be shorter.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'The body has the wrong type.',
    detail: 'The body must be application/json in UTF-8, without a content encoding.',
  },
  idempotency_conflict: {
    status: 422,
    title: 'The idempotency key was used before.',
    detail: 'The key stands for a request with another payload. Use a new key for a new request.',
  },
  rate_limited: {
    status: 429,
    title: 'Too many requests.',
    detail: 'Wait for the time that Retry-After says.',
    retryAfterS: 1,
  },
  too_many_streams: {
    status: 429,
    title: 'Too many open streams.',
    detail: 'Close a stream of events before opening another.',
    retryAfterS: 5,
  },
  internal: {
    status: 500,
    title: 'The request failed.',
    detail: 'The server failed to answer. The request id helps to find out why.',
  },
  unavailable: {
    status: 503,
    title: 'The service is not available at the moment.',
    detail: 'Nothing was changed. Try again a little later.',
    retryAfterS: 5,
  },
}

/** Which problem stands for an error. A new error does not compile before it is placed here. */
export const problemOf: Readonly<Record<ErrorCode, ProblemCode>> = {
  invalid_argument: 'invalid_request',
  invalid_message: 'invalid_request',
  message_group_missing: 'invalid_request',
  deduplication_id_missing: 'invalid_request',
  receipt_invalid: 'invalid_request',
  tier_refused: 'tier_refused',
  message_too_large: 'too_large',

  job_not_found: 'job_not_found',
  job_finished: 'job_finished',
  job_not_finished: 'job_not_finished',
  idempotency_conflict: 'idempotency_conflict',

  flow_not_found: 'not_found',
  schedule_not_found: 'not_found',
  alarm_not_found: 'not_found',
  unit_not_found: 'not_found',
  flow_sealed: 'conflict',
  flow_finished: 'conflict',

  queue_exists: 'conflict',
  dead_letter_missing: 'conflict',
  not_a_dead_letter_queue: 'conflict',
  move_task_not_found: 'not_found',

  // Somebody deleted it on the backend; those who only use the API cannot know or help.
  queue_not_found: 'unavailable',
  queue_deleted_recently: 'unavailable',
  purge_in_progress: 'unavailable',
  in_flight_limit: 'unavailable',
  move_task_running: 'unavailable',
  wait_timed_out: 'unavailable',
  aborted: 'unavailable',
  store_closed: 'unavailable',
  store_busy: 'unavailable',
  store_full: 'unavailable',
  store_failed: 'unavailable',
  store_replaced: 'unavailable',
  backup_failed: 'unavailable',

  invalid_contract: 'internal',
  unsupported: 'internal',
  within_failed: 'internal',
  store_corrupt: 'internal',
  store_foreign: 'internal',
  store_too_new: 'internal',
  store_unusable: 'internal',
  file_exists: 'internal',
  address_unavailable: 'internal',
}
