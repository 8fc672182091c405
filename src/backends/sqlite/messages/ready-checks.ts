/** Cheap checks whether a receive may find something, or when it will. */

import { inFlightMax } from '../../../core/limits.ts'
import type { Session } from '../driver/session.ts'
import { query } from '../driver/statements.ts'
import type { Queue } from '../queues/queue-cache.ts'
import { bucketsOf } from './buckets.ts'
import { type Gate, type GateOptions, gateOf } from './gates.ts'

const firstDue = (state: number): string => `(
  SELECT due_at FROM message INDEXED BY message_due
  WHERE generation = ? AND state = ${state} AND state > 0 ORDER BY due_at LIMIT 1)`

const sql = {
  anyReady: query<unknown>(`
    SELECT 1 FROM message INDEXED BY message_ready
    WHERE generation = ? AND state = 0 LIMIT 1`),
  anyOpenGroup: query<unknown>(`
    SELECT 1 FROM fifo_group INDEXED BY fifo_group_open
    WHERE generation = ? AND turn IS NOT NULL LIMIT 1`),
  nextDue: query<{ lease_ends: number | null; delay_ends: number | null }>(
    `SELECT ${firstDue(1)} AS lease_ends, ${firstDue(2)} AS delay_ends`,
  ),
  leased: query<{ leased: number }>('SELECT leased FROM queue_count WHERE queue = ?'),
  dataVersion: query<{ data_version: number }>('PRAGMA data_version'),
}

const never = Number.POSITIVE_INFINITY

/**
 * From when on a receive takes or changes something, as far as is known now. It must not name a time for a
 * queue whose messages all have to wait: waiting receives would retry again and again.
 */
export function worthwhileAt(options: GateOptions): number {
  const { session, queue, now } = options
  const gate = gateOf(options)
  if (gate === undefined && hasSomethingReady(session, queue)) {
    return isAtCeiling(session, queue, gate) ? nextDueAt(session, queue) : now
  }
  if (gate?.isHeld) return session.queues.switches.nextEnd(now)
  const dueAt = nextDueAt(session, queue)
  if (dueAt <= now) return now
  if (isAtCeiling(session, queue, gate)) return dueAt
  // Before the rate allows anything, it does not help that something becomes due.
  const rateOpensAt = gate !== undefined && gate.room <= 0 ? gate.rateOpensAt : now
  if (hasSomethingReady(session, queue)) return rateOpensAt
  const bucketOpensAt = gate === undefined ? never : bucketsOpenAt(options, gate)
  const nextEnd = session.queues.switches.nextEnd(now)
  return Math.max(rateOpensAt, Math.min(bucketOpensAt, dueAt, nextEnd))
}

/** As many messages run as may; some of them must end first. */
function isAtCeiling(session: Session, queue: Queue, gate: Gate | undefined): boolean {
  if (gate?.isRunningFull) return true
  const leased = session.one(sql.leased, queue.id)?.leased ?? 0
  return leased >= inFlightMax
}

/**
 * When the first bucket opens by itself. Ready messages are taken by the next receive or put into a bucket;
 * a bucket is only looked at.
 */
function bucketsOpenAt({ session, queue, now }: GateOptions, gate: Gate): number {
  let first = never
  for (const { kind } of bucketsOf(session, queue)) {
    if (gate.verdict(kind) !== 'closed') return now
    first = Math.min(first, gate.opensAt(kind))
  }
  return first
}

/** Does not see leases and delays that are due and not ended yet. */
export function hasSomethingReady(session: Session, queue: Queue): boolean {
  const any = queue.settings.type === 'fifo' ? sql.anyOpenGroup : sql.anyReady
  return session.one(any, queue.generation) !== undefined
}

/** When the next lease, or the next delay, ends. */
function nextDueAt(session: Session, queue: Queue): number {
  const row = session.one(sql.nextDue, queue.generation, queue.generation)
  return Math.min(row?.lease_ends ?? never, row?.delay_ends ?? never)
}

/** Moves on when another connection, in this process or another, has committed. */
export function dataVersion(session: Session): number {
  return session.one(sql.dataVersion)?.data_version ?? 0
}
