/**
 * Counts of a queue, read without scanning it: counters are kept with every commit. Only messages
 * that are due and not ended yet are read one by one, and the sweeper keeps them few. They are counted
 * where they will be: a job that has lost its last attempt is a dead letter by now.
 */

import type { QueueName, QueueStatistics } from '../../backends/backend.ts'
import { totalsOf } from '../../core/queue-counters.ts'
import { withCarried } from '../carried/carried-figures.ts'
import { dueIn, ownExpired } from '../messages/elapsed-time.ts'
import { type ExpiringRow, expiryOf, hasOwnExpiries, isRunning } from '../messages/expiry.ts'
import { hasUsedUpReceives } from '../messages/leases.ts'
import { blocked, delayed, leased, ready as readyState } from '../messages/message-rows.ts'
import { type Query, query, upTo } from '../statements.ts'
import { gathered, type Steps } from '../steps.ts'
import type { View } from '../transaction.ts'
import type { Queue } from './queue.ts'

/** Expired messages that are read at once; the sweeper keeps them few. */
const expiredSlice = 1_000

const columns = `sequence, state, sent_at, expires_at, delayed_until, job_type IS NOT NULL AS is_job`

const sql = {
  dueLeased: query<DueLease>(
    dueIn(
      leased,
      `${columns}, due_at, token, receive_count,
      CASE WHEN job_type IS NOT NULL THEN job END AS job`,
    ),
  ),
  dueDelayed: query<DueRow>(dueIn(delayed, columns)),
  oldest: query<DueRow>(`
    SELECT ${columns} FROM message /*sqlite INDEXED BY message_ready */
    WHERE generation = ? AND state = 0 AND sequence > ? ORDER BY sequence ${upTo}`),
  // In the order of sending.
  oldestBlocked: query<DueRow>(`
    SELECT ${columns} FROM message /*sqlite INDEXED BY message_due */
    WHERE generation = ? AND state = ${blocked} AND state > 0 AND sequence > ?
    ORDER BY due_at, sequence ${upTo}`),
  ownExpired: query<{ readonly count: number }>(ownExpired('count(*) AS count')),
  // Only what is leased can have lost its last attempt.
  sources: query<{ readonly name: string }>(`
    SELECT name FROM queue JOIN queue_total ON queue_total.queue = queue.id
    WHERE dead_letter = ? AND leased > 0`),
}

interface DueRow extends ExpiringRow {
  readonly sequence: number
  readonly state: number
  /** The end of a long delay, which does not count for the age. */
  readonly delayed_until: number | null
  readonly is_job: 0 | 1
}

interface DueLease extends DueRow {
  readonly due_at: number
  readonly token: number
  readonly receive_count: number
  /** Null also for what was a job, and is a dead letter now. */
  readonly job: string | null
}

export function* queueStatistics(view: View, { queue }: QueueName): Steps<QueueStatistics> {
  return yield* readStatistics(view, yield* view.queue(queue))
}

export function* readStatistics(view: View, queue: Queue): Steps<QueueStatistics> {
  const { now } = view
  const counts = yield* view.counts(queue)
  let ready = counts.ready
  let inFlight = counts.leased
  let held = counts.delayed
  let expired = counts.expired
  let oldest: DueRow | undefined
  // Where the counter is zero, there is nothing to read.
  const lapsed = inFlight > 0 ? yield* view.all(sql.dueLeased, queue.generation, now) : []
  const ended = lapsed.filter((row) => hasEndedJob(queue, row))
  inFlight -= ended.length
  const due = [
    ...lapsed.filter((row) => !ended.includes(row)),
    ...(held > 0 ? yield* view.all(sql.dueDelayed, queue.generation, now) : []),
    ...(yield* deadLettersToCome(view, queue)),
  ]
  for (const row of due) {
    const hasExpired = expiryOf(queue, row, row.is_job === 1) <= now
    if (row.state === leased) inFlight -= 1
    if (row.state === delayed) held -= 1
    if (hasExpired) {
      expired += 1
    } else {
      ready += 1
      oldest = firstOf(oldest, row)
    }
  }
  const orders = counts.ready > 0 ? [sql.oldest, sql.oldestBlocked] : []
  for (const order of orders) {
    const head = yield* readHead(view, queue, order)
    if (head.first !== undefined) oldest = firstOf(oldest, head.first)
    ready -= head.expired
    expired += head.expired
  }
  const mayHaveOwn = counts.ready > 0 && hasOwnExpiries(queue)
  const own = mayHaveOwn
    ? ((yield* view.one(sql.ownExpired, queue.generation, now))?.count ?? 0)
    : 0
  ready -= own
  expired += own
  const { deadLetter } = queue.settings
  const hasTarget = deadLetter !== null && (yield* view.findQueue(deadLetter.queue)) !== undefined
  const levels = { ready, leased: inFlight, delayed: held }
  const carried = yield* withCarried(view, queue, levels)
  const { oldestSentAt, ...all } = carried ?? { ...levels, oldestSentAt: null }
  const since = oldest === undefined ? oldestSentAt : (oldest.delayed_until ?? oldest.sent_at)
  const oldestAt = since === null ? null : Math.min(since, oldestSentAt ?? since)
  return {
    ...all,
    oldestReadyAgeMs: oldestAt === null ? null : Math.max(0, now - oldestAt),
    totals: {
      ...totalsOf(counts),
      deadLettered: counts.deadLettered + (hasTarget ? ended.length : 0),
      expired,
    },
  }
}

interface Head {
  /** The first message that has not expired. */
  readonly first: DueRow | undefined
  /** Messages before it that have, and that are not in the index of expiries. */
  readonly expired: number
}

/** Reads messages in the order of sending up to the first that has not expired: nearly always one. */
function* readHead(view: View, queue: Queue, order: Query<DueRow>): Steps<Head> {
  let expired = 0
  let after = 0
  for (let count = 1; ; count = expiredSlice) {
    const rows = yield* view.all(order, queue.generation, after, count)
    for (const row of rows) {
      if (expiryOf(queue, row, row.is_job === 1) > view.now) return { first: row, expired }
      if (row.expires_at === null) expired += 1
      after = row.sequence
    }
    if (rows.length < count) return { first: undefined, expired }
  }
}

/** The one that was sent first. */
function firstOf(one: DueRow | undefined, other: DueRow): DueRow {
  return one !== undefined && one.sequence < other.sequence ? one : other
}

/** Whether a lease that lapsed was the last attempt of a job, as the sweep will find. */
function hasEndedJob(queue: Queue, row: DueLease): boolean {
  return (
    row.job !== null &&
    isRunning(row) &&
    hasUsedUpReceives(queue, { job: row.job, receive_count: row.receive_count })
  )
}

/** Jobs that have lost their last attempt in other queues, and belong to this one since `due_at`. */
export function* deadLettersToCome(view: View, target: Queue): Steps<readonly DeadLetterToCome[]> {
  const sources = yield* view.all(sql.sources, target.name)
  return yield* gathered(sources, function* (source) {
    const queue = yield* view.queue(source.name)
    const lapsed = yield* view.all(sql.dueLeased, queue.generation, view.now)
    return lapsed
      .filter((row) => hasEndedJob(queue, row))
      .map((row) => ({ ...row, state: readyState, is_job: 0, expires_at: expiryIn(target, row) }))
  })
}

interface DeadLetterToCome extends DueRow {
  readonly due_at: number
}

function expiryIn({ settings }: Queue, row: DueLease): number {
  return row.due_at + settings.retentionMs
}
