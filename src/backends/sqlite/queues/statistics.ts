/**
 * Counts of a queue, read without scanning it: counters are kept with every commit. Only messages
 * that are due and not ended yet are read one by one, and the sweeper keeps them few. They are counted
 * where they will be: a job that has lost its last attempt is a dead letter by now.
 */

import { totalsOf } from '../../../core/queue-counters.ts'
import type { QueueStatistics } from '../../backend.ts'
import { query } from '../driver/statements.ts'
import type { StoreView } from '../driver/transaction.ts'
import { readCounts } from '../driver/transaction.ts'
import { dueIn } from '../messages/elapsed-time.ts'
import { retentionCutoff } from '../messages/holding.ts'
import { hasUsedUpReceives } from '../messages/leases.ts'
import {
  blocked,
  delayed,
  leased,
  ready as readyState,
  unleasedToken,
} from '../messages/message-rows.ts'
import type { Queue } from './queue-cache.ts'

const sql = {
  dueLeased: query<DueLease>(
    dueIn(
      leased,
      `state, sent_at, due_at, token, receive_count,
      CASE WHEN job_type IS NOT NULL THEN job END AS job`,
    ),
  ),
  dueDelayed: query<DueRow>(dueIn(delayed)),
  oldest: query<{ sent_at: number }>(`
    SELECT sent_at FROM message INDEXED BY message_ready
    WHERE generation = ? AND state = 0 ORDER BY sequence`),
  // In the order of their retention, which is that of sending.
  oldestBlocked: query<{ sent_at: number }>(`
    SELECT sent_at FROM message INDEXED BY message_due
    WHERE generation = ? AND state = ${blocked} AND state > 0 ORDER BY due_at`),
  // Only what is leased can have lost its last attempt.
  sources: query<{ readonly name: string }>(`
    SELECT name FROM queue JOIN queue_count ON queue_count.queue = queue.id
    WHERE dead_letter = ? AND leased > 0`),
}

interface DueRow {
  readonly state: number
  readonly sent_at: number
}

interface DueLease extends DueRow {
  readonly due_at: number
  readonly token: number
  readonly receive_count: number
  /** Null also for what was a job, and is a dead letter now. */
  readonly job: string | null
}

export function readStatistics(view: StoreView, queue: Queue): QueueStatistics {
  const { now } = view
  const cutoff = retentionCutoff(queue, now)
  const counts = readCounts(view.session, queue)
  let ready = counts.ready
  let inFlight = counts.leased
  let held = counts.delayed
  let expired = counts.expired
  let oldestSentAt = Number.POSITIVE_INFINITY
  // Where the counter is zero, there is nothing to read.
  const lapsed = inFlight > 0 ? view.all(sql.dueLeased, queue.generation, now) : []
  const ended = lapsed.filter((row) => hasEndedJob(queue, row))
  inFlight -= ended.length
  const due = [
    ...lapsed.filter((row) => !ended.includes(row)),
    ...(held > 0 ? view.all(sql.dueDelayed, queue.generation, now) : []),
    ...deadLettersToCome(view, queue),
  ]
  for (const row of due) {
    const hasExpired = row.sent_at <= cutoff
    if (row.state === leased) inFlight -= 1
    if (row.state === delayed) held -= 1
    if (hasExpired) {
      expired += 1
    } else {
      ready += 1
      oldestSentAt = Math.min(oldestSentAt, row.sent_at)
    }
  }
  const orders = counts.ready > 0 ? [sql.oldest, sql.oldestBlocked] : []
  for (const oldest of orders) {
    for (const row of view.session.each(oldest, queue.generation)) {
      const sentAt = row.sent_at
      if (sentAt > cutoff) {
        oldestSentAt = Math.min(oldestSentAt, sentAt)
        break
      }
      ready -= 1
      expired += 1
    }
  }
  const { deadLetter } = queue.settings
  const hasTarget = deadLetter !== null && view.findQueue(deadLetter.queue) !== undefined
  return {
    ready,
    leased: inFlight,
    delayed: held,
    oldestReadyAgeMs: ready > 0 ? now - oldestSentAt : null,
    totals: {
      ...totalsOf(counts),
      deadLettered: counts.deadLettered + (hasTarget ? ended.length : 0),
      expired,
    },
  }
}

/** Whether a lease that lapsed was the last attempt of a job, as the sweep will find. */
function hasEndedJob(queue: Queue, row: DueLease): boolean {
  return (
    row.job !== null &&
    row.token !== unleasedToken &&
    row.due_at < row.sent_at + queue.settings.retentionMs &&
    hasUsedUpReceives(queue, { job: row.job, receive_count: row.receive_count })
  )
}

/** Jobs that have lost their last attempt in other queues, and belong to this one since `due_at`. */
export function deadLettersToCome(
  view: StoreView,
  { name }: Queue,
): readonly (DueRow & Pick<DueLease, 'due_at'>)[] {
  return view.all(sql.sources, name).flatMap((source) => {
    const queue = view.queue(source.name)
    const lapsed = view.all(sql.dueLeased, queue.generation, view.now)
    return lapsed
      .filter((row) => hasEndedJob(queue, row))
      .map(({ sent_at, due_at }) => ({ state: readyState, sent_at, due_at }))
  })
}
