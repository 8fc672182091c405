/**
 * How many messages were claimed lately from a queue, or of those with one value of a key. The store keeps
 * it, so it holds for all processes together, also after a crash.
 */

import type { Rate } from '../../core/queue-settings.ts'
import type { Queue } from '../queues/queue.ts'
import { change, query } from '../statements.ts'
import type { Steps } from '../steps.ts'
import type { Transaction, View } from '../transaction.ts'

const sql = {
  spans: query<{ at: number; count: number }>(`
    SELECT at, count FROM claim_rate WHERE queue = ? AND key = ? AND at > ? ORDER BY at`),
  add: change(`
    INSERT INTO claim_rate (queue, key, at, count, expires_at) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (queue, key, at) DO UPDATE SET count = claim_rate.count + excluded.count`),
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

/** What was claimed in the window up to now: spans of time, and how many in each. */
export type Claimed = readonly { readonly at: number; readonly count: number }[]

export function* claimedLately(view: View, { queue, rate, key }: Rated): Steps<Claimed> {
  return yield* view.all(sql.spans, queue.id, key, view.now - windowMs(rate))
}

/** How many more may be claimed now. */
export function roomInRate({ rate }: Rated, claimed: Claimed): number {
  return rate.max - claimed.reduce((sum, { count }) => sum + count, 0)
}

/** When the next one may be claimed; `now` when one may be at once. */
export function rateOpensAt(rated: Rated, claimed: Claimed, now: number): number {
  let surplus = -roomInRate(rated, claimed)
  for (const { at, count } of claimed) {
    if (surplus < 0) break
    surplus -= count
    if (surplus < 0) return at + windowMs(rated.rate)
  }
  return now
}

/** Notes claims, and forgets those that no window reaches any more. */
export function* noteClaims(
  tx: Transaction,
  { queue, rate, key }: Rated,
  count: number,
): Steps<void> {
  const spanMs = Math.max(1, Math.floor(rate.perMs / spansPerWindow))
  // As if all of a span had been claimed at its end: the window is rather too long than too short.
  const at = tx.now - (tx.now % spanMs) + spanMs - 1
  const window = windowMs(rate)
  yield* tx.run(sql.forget, queue.id, key, tx.now - window)
  // A value may never be claimed again, and the sweeper then forgets it.
  yield* tx.run(sql.add, queue.id, key, at, count, key === '' ? null : at + window)
  tx.wroteRow()
}
