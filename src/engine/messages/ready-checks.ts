/** Cheap checks whether a receive may find something, or when it will. */

import { inFlightMax } from '../../core/limits.ts'
import type { Queue } from '../queues/queue.ts'
import { query } from '../statements.ts'
import type { Steps } from '../steps.ts'
import type { View } from '../transaction.ts'
import { bucketsOf } from './buckets.ts'
import { type Gate, type GateOptions, gateOf } from './gates.ts'

const firstDue = (state: number): string => `(
  SELECT due_at FROM message /*sqlite INDEXED BY message_due */
  WHERE generation = ? AND state = ${state} AND state > 0 ORDER BY due_at LIMIT 1)`

const sql = {
  anyReady: query<unknown>(`
    SELECT 1 FROM message /*sqlite INDEXED BY message_ready */
    WHERE generation = ? AND state = 0 LIMIT 1`),
  anyOpenGroup: query<unknown>(`
    SELECT 1 FROM fifo_group /*sqlite INDEXED BY fifo_group_open */
    WHERE generation = ? AND turn IS NOT NULL LIMIT 1`),
  nextDue: query<{ lease_ends: number | null; delay_ends: number | null }>(
    `SELECT ${firstDue(1)} AS lease_ends, ${firstDue(2)} AS delay_ends`,
  ),
}

const never = Number.POSITIVE_INFINITY

/**
 * From when on a receive takes or changes something, as far as is known now. It must not name a time for a
 * queue whose messages all have to wait: waiting receives would retry again and again.
 */
export function* worthwhileAt(options: GateOptions): Steps<number> {
  const { view, queue } = options
  const { now, switches } = view
  const gate = yield* gateOf(options)
  if (gate === undefined && (yield* hasSomethingReady(view, queue))) {
    return (yield* isAtCeiling(view, queue, gate)) ? yield* nextDueAt(view, queue) : now
  }
  if (gate?.isHeld) return switches.nextEnd(now)
  const dueAt = yield* nextDueAt(view, queue)
  if (dueAt <= now) return now
  if (yield* isAtCeiling(view, queue, gate)) return dueAt
  // Before the rate allows anything, it does not help that something becomes due.
  const rateOpensAt = gate !== undefined && gate.room <= 0 ? gate.rateOpensAt : now
  if (yield* hasSomethingReady(view, queue)) return rateOpensAt
  const bucketOpensAt = gate === undefined ? never : yield* bucketsOpenAt(options, gate)
  return Math.max(rateOpensAt, Math.min(bucketOpensAt, dueAt, switches.nextEnd(now)))
}

/** As many messages run as may; some of them must end first. */
function* isAtCeiling(view: View, queue: Queue, gate: Gate | undefined): Steps<boolean> {
  if (gate?.isRunningFull) return true
  return (yield* view.counts(queue)).leased >= inFlightMax
}

/**
 * When the first bucket opens by itself. Ready messages are taken by the next receive or put into a bucket;
 * a bucket is only looked at.
 */
function* bucketsOpenAt({ view, queue }: GateOptions, gate: Gate): Steps<number> {
  let first = never
  for (const { kind } of yield* bucketsOf(view, queue)) {
    yield* gate.prepare(kind)
    if (gate.verdict(kind) !== 'closed') return view.now
    first = Math.min(first, gate.opensAt(kind))
  }
  return first
}

/** Does not see leases and delays that are due and not ended yet. */
export function* hasSomethingReady(view: View, queue: Queue): Steps<boolean> {
  const any = queue.settings.type === 'fifo' ? sql.anyOpenGroup : sql.anyReady
  return (yield* view.one(any, queue.generation)) !== undefined
}

/** When the next lease, or the next delay, ends. */
function* nextDueAt(view: View, queue: Queue): Steps<number> {
  const row = yield* view.one(sql.nextDue, queue.generation, queue.generation)
  return Math.min(row?.lease_ends ?? never, row?.delay_ends ?? never)
}
