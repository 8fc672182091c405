/** What the store knows about a queue on a carrier as a whole: what the carrier has, and whether it may get more. */

import type { CarriedFigures, CarriedLevels, KeepMessages } from '../../backends/carried-store.ts'
import { carrierAnnotation } from '../../core/carrier-annotation.ts'
import { queueCounterNames } from '../../core/queue-counters.ts'
import { carrierBucket } from '../messages/buckets.ts'
import type { Queue } from '../queues/queue.ts'
import { change, orReplace, query } from '../statements.ts'
import type { Steps } from '../steps.ts'
import type { Transaction, View } from '../transaction.ts'

/** How many messages at a carrier are counted one by one. */
export const countedMax = 10_000

/** Levels that were noted before are not taken for those of now. */
const levelsLastMs = 150_000

const sql = {
  read: query<CarriedQueueRow>('SELECT * FROM carried_queue WHERE queue = ?'),
  moves: query<unknown>(`
    SELECT 1 FROM move_task WHERE source_queue = ? AND status IN ('running', 'cancelling') LIMIT 1`),
  keep: change(`
    INSERT INTO carried_queue (queue, kept_until) VALUES (?, ?)
    ${orReplace('queue', 'kept_until')}`),
  note: change(`
    INSERT INTO carried_queue (queue, ready, leased, delayed, oldest_at, noted_at)
    VALUES (?, ?, ?, ?, ?, ?)
    ${orReplace('queue', 'ready, leased, delayed, oldest_at, noted_at')}`),
  count: query<{ count: number }>(`
    SELECT count(*) AS count FROM (
      SELECT sequence FROM message /*sqlite INDEXED BY message_bucket */
      WHERE generation = ? AND bucket = '${carrierBucket}' LIMIT ${countedMax}
    ) AS first_ones`),
}

interface CarriedQueueRow {
  readonly kept_until: number
  readonly ready: number
  readonly leased: number
  readonly delayed: number
  readonly oldest_at: number | null
  readonly noted_at: number
}

/** Whether messages of the queue stay in the store: people look at them there, or they are moved. */
export function* isKept(view: View, queue: Queue): Steps<boolean> {
  const row = yield* view.one(sql.read, queue.id)
  if (row !== undefined && row.kept_until > view.now) return true
  return (yield* view.one(sql.moves, queue.id)) !== undefined
}

export function* keepMessages(tx: Transaction, { queue, forMs }: KeepMessages): Steps<void> {
  yield* tx.run(sql.keep, (yield* tx.queue(queue)).id, tx.now + forMs)
  tx.wroteRow()
}

export function* noteFigures(
  tx: Transaction,
  { queue: name, counts = {}, levels }: CarriedFigures,
): Steps<void> {
  const queue = yield* tx.queue(name)
  for (const counter of queueCounterNames) {
    const count = counts[counter]
    if (count !== undefined) tx.count(queue, counter, count)
  }
  if (levels === undefined) return
  const { ready, leased, delayed, oldestSentAt } = levels
  yield* tx.run(sql.note, queue.id, ready, leased, delayed, oldestSentAt, tx.now)
  tx.wroteRow()
}

type Levels = Omit<CarriedLevels, 'oldestSentAt'>

/** The levels of a queue with what only its carrier has. */
export function* withCarried(
  view: View,
  queue: Queue,
  stored: Levels,
): Steps<CarriedLevels | undefined> {
  const row = yield* notedLevels(view, queue)
  if (row === undefined) return undefined
  const atCarrier = (yield* view.one(sql.count, queue.generation))?.count ?? 0
  return { ...sumOf(stored, row, atCarrier), oldestSentAt: row.oldest_at }
}

/** Since when the oldest message waits at the carrier, as far as the carrier reports it. */
export function* carriedSince(view: View, queue: Queue): Steps<number | null> {
  return (yield* notedLevels(view, queue))?.oldest_at ?? null
}

function* notedLevels(view: View, queue: Queue): Steps<CarriedQueueRow | undefined> {
  if (queue.settings.annotations[carrierAnnotation] === undefined) return undefined
  const row = yield* view.one(sql.read, queue.id)
  return row === undefined || row.noted_at + levelsLastMs < view.now ? undefined : row
}

/** What the store tracks is in both: as many as it knows to be at the carrier, and those that are leased. */
function sumOf(stored: Levels, carrier: Levels, counted: number): Levels {
  // Of very many, all that wait count as being there.
  const atCarrier = counted < countedMax ? counted : stored.ready
  let untracked = carrier.ready + carrier.leased + carrier.delayed - atCarrier - stored.leased
  const part = (count: number): number => {
    const some = Math.max(0, Math.min(count, untracked))
    untracked -= some
    return some
  }
  return {
    ready: stored.ready + part(carrier.ready - atCarrier),
    leased: stored.leased + part(carrier.leased),
    delayed: stored.delayed + part(carrier.delayed),
  }
}
