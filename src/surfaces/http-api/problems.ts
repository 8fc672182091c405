/**
 * All error responses of the API with their status and texts, and the response for each error code of
 * Millrace. The texts are for users of an application. So they do not mention queues, stores or workers; the
 * log has the exact code.
 */
import type { ErrorCode } from '../../core/error-codes.ts'

export interface ProblemKind {
  readonly status: 400 | 401 | 403 | 404 | 408 | 409 | 413 | 414 | 415 | 422 | 429 | 500 | 503
  readonly title: string
  readonly detail: string
  /** Seconds until a retry makes sense. */
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
  | 'budget_not_found'
  | 'item_not_found'
  | 'item_taken'
  | 'item_not_ready'
  | 'claim_not_yours'
  | 'claim_over'
  | 'body_timeout'
  | 'conflict'
  | 'job_finished'
  | 'job_running'
  | 'job_not_finished'
  | 'lease_ended'
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
    title: 'This address does not accept jobs.',
    detail: 'Use an address that accepts jobs; its last part was wrong.',
  },
  tier_refused: {
    status: 400,
    title: 'This tier does not accept such jobs.',
    detail: 'Use another tier, or leave the tier out.',
  },
  unauthenticated: {
    status: 401,
    title: 'Credentials are required.',
    detail: 'Send a valid API key or bearer token.',
  },
  forbidden: {
    status: 403,
    title: 'This is not allowed.',
    detail: 'The credentials are valid, but not for this.',
  },
  closed: {
    status: 403,
    title: 'The API is closed.',
    detail: 'Other machines can reach this server. Start it with API keys or a JWT setting.',
  },
  not_found: {
    status: 404,
    title: 'Not found.',
    detail: 'Nothing exists at this address.',
  },
  no_app: {
    status: 404,
    title: 'Not found.',
    detail: 'This server was started without an app. Start it with --app to use this.',
  },
  job_not_found: {
    status: 404,
    title: 'The job was not found.',
    detail: 'The job does not exist, is no longer kept, or is not yours.',
  },
  switch_not_on: {
    status: 404,
    title: 'The switch is not on.',
    detail:
      'There is nothing to lift. A switch that an environment variable turned on ends with its process.',
  },
  budget_not_found: {
    status: 404,
    title: 'The budget was not found.',
    detail: 'No app declares this budget. GET /budgets lists all.',
  },
  item_not_found: {
    status: 404,
    title: 'The item was not found.',
    detail: 'It does not exist, or it is already resolved.',
  },
  item_taken: {
    status: 409,
    title: 'The item is claimed.',
    detail: 'It can be claimed again when its holder returns it, or when the claim expires.',
  },
  item_not_ready: {
    status: 409,
    title: 'The item cannot be claimed now.',
    detail: 'It is delayed or held, or an earlier item must be resolved first.',
  },
  claim_not_yours: {
    status: 409,
    title: 'The claim is not yours.',
    detail: 'Only the person who claimed the item can do this.',
  },
  claim_over: {
    status: 409,
    title: 'Your claim has expired.',
    detail: 'Claim the item again, if it is still free.',
  },
  body_timeout: {
    status: 408,
    title: 'The body arrived too slowly.',
    detail: 'The body did not arrive in time. Send it again.',
  },
  conflict: {
    status: 409,
    title: 'The request conflicts with the present state.',
    detail: 'Read the present state, then try again.',
  },
  job_finished: {
    status: 409,
    title: 'The job has finished.',
    detail: 'A finished job cannot be cancelled or moved to another time.',
  },
  job_running: {
    status: 409,
    title: 'The job is being run.',
    detail: 'Only a job that waits can be moved to another time. Cancel it, or wait until it ends.',
  },
  job_not_finished: {
    status: 409,
    title: 'The job cannot be retried.',
    detail: 'Only a failed or cancelled job can be retried.',
  },
  lease_ended: {
    status: 409,
    title: 'Your lease has ended.',
    detail:
      'Nothing was changed. Stop working on the job: it was cancelled, ended or given to another worker.',
  },
  too_large: {
    status: 413,
    title: 'The body is too large.',
    detail: 'Send a smaller body, or put the data elsewhere and send a reference.',
  },
  address_too_long: {
    status: 414,
    title: 'The address is too long.',
    detail: 'Shorten the address and its parameters.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'The body has the wrong type.',
    detail: 'The body must be application/json in UTF-8, without a content encoding.',
  },
  idempotency_conflict: {
    status: 422,
    title: 'The idempotency key was used before.',
    detail: 'The key belongs to a request with another payload. Use a new key for a new request.',
  },
  rate_limited: {
    status: 429,
    title: 'Too many requests.',
    detail: 'Wait for the number of seconds in Retry-After.',
    retryAfterS: 1,
  },
  too_many_streams: {
    status: 429,
    title: 'Too many open streams.',
    detail: 'Close an event stream before you open another.',
    retryAfterS: 5,
  },
  internal: {
    status: 500,
    title: 'The request failed.',
    detail: 'An unexpected error occurred. Search the log of the server for the request id.',
  },
  unavailable: {
    status: 503,
    title: 'The service is not available at the moment.',
    detail: 'Nothing was changed. Try again later.',
    retryAfterS: 5,
  },
}

/** The response for each error code. A new code does not compile until it is added here. */
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
  job_running: 'job_running',
  job_not_finished: 'job_not_finished',
  idempotency_conflict: 'idempotency_conflict',

  flow_not_found: 'not_found',
  budget_not_found: 'budget_not_found',
  schedule_not_found: 'not_found',
  schedule_ticked: 'unavailable',
  alarm_not_found: 'not_found',
  unit_not_found: 'not_found',
  flow_sealed: 'conflict',
  flow_finished: 'conflict',

  queue_exists: 'conflict',
  dead_letter_missing: 'conflict',
  not_a_dead_letter_queue: 'conflict',
  move_task_not_found: 'not_found',

  // The queue was deleted from the store. A user of the API can only wait.
  queue_not_found: 'unavailable',
  queue_deleted_recently: 'unavailable',
  purge_in_progress: 'unavailable',
  in_flight_limit: 'unavailable',
  move_task_running: 'unavailable',
  wait_timed_out: 'unavailable',
  send_failed: 'unavailable',
  carrier_unreachable: 'unavailable',
  carrier_failed: 'unavailable',
  aborted: 'unavailable',
  store_closed: 'unavailable',
  store_busy: 'unavailable',
  store_unreachable: 'unavailable',
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
  store_not_found: 'internal',
  store_unusable: 'internal',
  carrier_unusable: 'internal',
  encryption_key_missing: 'internal',
  encryption_key_wrong: 'internal',
  encryption_failed: 'internal',
  file_exists: 'internal',
  address_unavailable: 'internal',
}
