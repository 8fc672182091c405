/**
 * The age of a queue's oldest message as SQS reports it: messages in flight count, those that were
 * received three times or more do not, and a dead letter's age begins when it was moved. A long delay does
 * not count. It is about right: no more than the first messages of each state are looked at, in the order of their index.
 */

import type { QueueLevels } from '../../backends/metric-store.ts'
import { carriedSince } from '../carried/carried-figures.ts'
import { retentionCutoff } from '../messages/expiry.ts'
import { blocked, leased } from '../messages/message-rows.ts'
import { type Query, query } from '../statements.ts'
import type { Steps } from '../steps.ts'
import type { View } from '../transaction.ts'
import type { Queue } from './queue.ts'
import { deadLettersToCome } from './statistics.ts'

/** After this many receives a message counts as a poison pill, and its age is ignored. */
const receivesMax = 3

/** Messages of a state that are read. */
const lookMax = 100

const inReadyOrder =
  '/*sqlite INDEXED BY message_ready */ WHERE generation = ? AND state = 0 ORDER BY sequence'
const inDueOrder = (state: number): string =>
  `/*sqlite INDEXED BY message_due */
    WHERE generation = ? AND state = ${state} AND state > 0 ORDER BY due_at`
/** Two parameters: the end of the retention of messages sent now, and the time. */
const hasExpired = `CASE
  WHEN expires_at IS NULL THEN job_type IS NULL AND sent_at <= ?
  ELSE expires_at <= ? END`
const sentAt = 'coalesce(delayed_until, sent_at)'
const columns = 'sent_at, delayed_until, expires_at, job_type, receive_count, origin'
const since = (found: string): Query<{ since: number | null }> =>
  query(`
    SELECT min(CASE
      WHEN ${hasExpired} THEN NULL
      WHEN origin IS NOT NULL THEN /*sqlite origin ->> '$.at' *//*postgres (origin::json ->> 'at')::bigint */
      WHEN receive_count < ${receivesMax} THEN ${sentAt}
    END) AS since
    FROM (SELECT ${columns} FROM message ${found} LIMIT ${lookMax}) AS head`)

const sql = {
  // Nearly always the oldest, since this order is that of sending. After a long delay, it may not be.
  firstReady: query<{ since: number | null }>(`
    SELECT CASE WHEN NOT (${hasExpired}) AND origin IS NULL AND delayed_until IS NULL
      AND receive_count < ${receivesMax} THEN sent_at END AS since
    FROM message ${inReadyOrder} LIMIT 1`),
  ready: since(inReadyOrder),
  leased: since(inDueOrder(leased)),
  blocked: since(inDueOrder(blocked)),
}

/** Null when the queue holds no message that counts. */
export function* oldestAge(
  view: View,
  queue: Queue,
  { ready, leased: inFlight }: Pick<QueueLevels, 'ready' | 'leased'>,
): Steps<number | null> {
  const { now } = view
  const cutoff = retentionCutoff(queue, now)
  const first = function* (look: Query<{ since: number | null }>): Steps<number | null> {
    return (yield* view.one(look, cutoff, now, queue.generation))?.since ?? null
  }
  const found = [
    ready > 0 ? ((yield* first(sql.firstReady)) ?? (yield* first(sql.ready))) : null,
    ready > 0 ? yield* first(sql.blocked) : null,
    yield* carriedSince(view, queue),
    // What is due and not ended yet counts as ready, and is found among the leased.
    ready + inFlight > 0 ? yield* first(sql.leased) : null,
    ...(ready > 0 ? (yield* deadLettersToCome(view, queue)).map(({ due_at }) => due_at) : []),
  ].filter((since) => since !== null)
  return found.length === 0 ? null : Math.max(0, now - Math.min(...found))
}
