/**
 * How many messages were claimed lately from a queue, or of those with one value of a key. The store keeps
 * it, so it holds for all processes together, also after a crash.
 */

import type { Rate } from '../../../core/queue-settings.ts'
import type { Session } from '../driver/session.ts'
import { change, query } from '../driver/statements.ts'
import type { StoreTransaction } from '../driver/transaction.ts'
import type { Queue } from '../queues/queue-cache.ts'

const sql = {
  claimed: query<{ count: number | null }>(
    'SELECT sum(count) AS count FROM claim_rate WHERE queue = ? AND key = ? AND at > ?',
  ),
  spans: query<{ at: number; count: number }>(`
    SELECT at, count FROM claim_rate WHERE queue = ? AND key = ? AND at > ? ORDER BY at`),
  add: change(`
    INSERT INTO claim_rate (queue, key, at, count, expires_at) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET count = count + excluded.count`),
  forget: change('DELETE FROM claim_rate WHERE queue = ? AND key = ? AND at <= ?'),
}

/** What a rate is for. */
export interface Rated {
  readonly queue: Queue
  readonly rate: Rate
  /** A key and its value, as JSON; empty for the whole queue. */
  readonly key: string
}

/** A window is stored in at most this many spans, however many claims fall into it. */
const spansPerWindow = 1_000

/**
 * A handler starts a moment after the claim was committed, one later than another. The window is
 * longer than what was asked for by more than that moment, so that not only claims but also starts
 * keep to the rate.
 */
function windowMs({ perMs }: Rate): number {
  return perMs + Math.min(50, Math.ceil(perMs / 20))
}

/** How many more may be claimed now. */
export function roomInRate(session: Session, { queue, rate, key }: Rated, now: number): number {
  const row = session.one(sql.claimed, queue.id, key, now - windowMs(rate))
  return rate.max - (row?.count ?? 0)
}

/** When the next one may be claimed, if none is any more. */
export function rateOpensAt(session: Session, { queue, rate, key }: Rated, now: number): number {
  const window = windowMs(rate)
  const spans = session.all(sql.spans, queue.id, key, now - window)
  let surplus = spans.reduce((sum, { count }) => sum + count, 0) - rate.max
  for (const { at, count } of spans) {
    if (surplus < 0) break
    surplus -= count
    if (surplus < 0) return at + window
  }
  return now
}

/** Notes claims, and forgets those that no window reaches any more. */
export function noteClaims(tx: StoreTransaction, { queue, rate, key }: Rated, count: number): void {
  const spanMs = Math.max(1, Math.floor(rate.perMs / spansPerWindow))
  // As if all of a span had been claimed at its end: the window is rather too long than too short.
  const at = tx.now - (tx.now % spanMs) + spanMs - 1
  const window = windowMs(rate)
  tx.run(sql.forget, queue.id, key, tx.now - window)
  // A value may never be claimed again, and the sweeper then forgets it.
  tx.run(sql.add, queue.id, key, at, count, key === '' ? null : at + window)
  tx.wroteRow()
}
