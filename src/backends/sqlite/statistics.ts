/**
 * Counts of a queue, read without scanning it: counters are kept with every commit. Only messages
 * that are due but not yet caught up with are looked at one by one, and the sweeper keeps them few.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { QueueStatistics } from '../backend.ts'
import { retentionCutoff } from './holding.ts'
import { blocked, delayed, leased } from './messages.ts'
import { allRows, getRow } from './rows.ts'
import type { Session } from './session.ts'
import type { Queue } from './topology.ts'
import type { Counts } from './transaction.ts'
import { dueIn } from './upkeep.ts'

export interface StatisticsStatements {
  readonly counts: StatementSync
  readonly dueLeased: StatementSync
  readonly dueDelayed: StatementSync
  readonly oldest: StatementSync
  readonly oldestBlocked: StatementSync
}

export function prepareStatistics(db: DatabaseSync): StatisticsStatements {
  return {
    counts: db.prepare('SELECT * FROM queue_count WHERE queue = ?'),
    dueLeased: db.prepare(dueIn(leased)),
    dueDelayed: db.prepare(dueIn(delayed)),
    oldest: db.prepare(`
      SELECT sent_at FROM message INDEXED BY message_ready
      WHERE generation = ? AND state = 0 ORDER BY sequence`),
    // In the order of their retention, which is that of sending.
    oldestBlocked: db.prepare(`
      SELECT sent_at FROM message INDEXED BY message_due
      WHERE generation = ? AND state = ${blocked} AND state > 0 ORDER BY due_at`),
  }
}

interface DueRow {
  readonly state: number
  readonly sent_at: number
}

export function readStatistics(session: Session, queue: Queue, now: number): QueueStatistics {
  const { statistics } = session
  const cutoff = retentionCutoff(queue, now)
  const counts = getRow<Counts>(statistics.counts, queue.id)
  let ready = counts?.ready ?? 0
  let inFlight = counts?.leased ?? 0
  let held = counts?.delayed ?? 0
  let expired = counts?.expired ?? 0
  let oldestSentAt = Number.POSITIVE_INFINITY
  // Counters that are zero tell that there is nothing to look at.
  const due = [
    ...(inFlight > 0 ? allRows<DueRow>(statistics.dueLeased, queue.generation, now) : []),
    ...(held > 0 ? allRows<DueRow>(statistics.dueDelayed, queue.generation, now) : []),
  ]
  for (const row of due) {
    const hasExpired = row.sent_at <= cutoff
    if (row.state === leased) inFlight -= 1
    else held -= 1
    if (hasExpired) {
      expired += 1
    } else {
      ready += 1
      oldestSentAt = Math.min(oldestSentAt, row.sent_at)
    }
  }
  const orders = (counts?.ready ?? 0) > 0 ? [statistics.oldest, statistics.oldestBlocked] : []
  for (const oldest of orders) {
    for (const row of oldest.iterate(queue.generation)) {
      const sentAt = Number(row['sent_at'])
      if (sentAt > cutoff) {
        oldestSentAt = Math.min(oldestSentAt, sentAt)
        break
      }
      ready -= 1
      expired += 1
    }
  }
  return {
    ready,
    leased: inFlight,
    delayed: held,
    oldestReadyAgeMs: ready > 0 ? now - oldestSentAt : null,
    totals: {
      sent: counts?.sent ?? 0,
      deduplicated: counts?.deduplicated ?? 0,
      received: counts?.received ?? 0,
      acknowledged: counts?.acknowledged ?? 0,
      deadLettered: counts?.dead_lettered ?? 0,
      expired,
    },
  }
}
