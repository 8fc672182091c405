/**
 * The outbox of a queue on a carrier: what is ready in the store and not yet at the carrier. A process takes
 * messages, sends them, and confirms that. If it dies in between, another takes them after a while, so a
 * message may reach the carrier twice. What the carrier has waits in a bucket of its own, so it counts as ready.
 */

import type {
  OutgoingJob,
  OutgoingMessage,
  SentMessages,
  TakeOutgoing,
} from '../../backends/carried-store.ts'
import { decodeDetails } from '../jobs/job-details.ts'
import { bucketsOf, carrierBucket, inBucket, keysOf } from '../messages/buckets.ts'
import type { ContentRow } from '../messages/content-row.ts'
import { endDueForReceive } from '../messages/elapsed-time.ts'
import { expiryOf } from '../messages/expiry.ts'
import { type Gate, gateOf } from '../messages/gates.ts'
import { groupChanged } from '../messages/groups.ts'
import { isSetAside, stop } from '../messages/leasing.ts'
import {
  blocked,
  type MessageRow,
  messageColumns,
  oldestReady,
  peekedFromRow,
} from '../messages/message-rows.ts'
import { messageRemoved, type RemovedRow } from '../messages/removing.ts'
import type { Queue } from '../queues/queue.ts'
import { among, byKey, change, oneOf, perRow, query, upTo } from '../statements.ts'
import { filtered, inTurn, type Steps } from '../steps.ts'
import type { Transaction } from '../transaction.ts'
import { countedMax, isKept } from './carried-figures.ts'

/** Without an index: the rows are found by their numbers. */
const isCarried = `state${byKey} = ${blocked} AND coalesce(bucket, '') = '${carrierBucket}'`
const waits = `state = 0, bucket = NULL, due_at = coalesce(held_until, due_at), held_until = NULL`
/**
 * The store decides whether these run, apart from jobs and units: triggers of collectors, messages that it has
 * taken from the carrier, and those that it has leased before.
 */
const isKeptTrack = `(
  (receive_count > 0 AND origin IS NULL)
  OR EXISTS (SELECT 1 FROM collector_key WHERE trigger = message.sequence)
  OR EXISTS (SELECT 1 FROM carried_delivery WHERE queue = ? AND carried_delivery.id = message.id))`

const sliceRows = 1_000
/** Looks of one call past what may not be sent. */
const looksMax = 4

const sql = {
  // Blocked messages are read in the order of sending; when it was handed over is kept beside.
  hand: change(`
    UPDATE message SET state = ${blocked}, bucket = '${carrierBucket}', due_at = sent_at, held_until = ?
    WHERE ${oneOf('sequence')} AND (state = 0 OR state = ${blocked})`),
  note: change(`
    INSERT INTO outgoing (sequence, queue, held_until)
    SELECT sequence, ?, ? FROM message WHERE ${oneOf('sequence')}`),
  handed: query<HandedRow>(`
    SELECT ${messageColumns}, CASE WHEN ${isKeptTrack} THEN 1 ELSE 0 END AS is_tracked,
      CASE WHEN job_type IS NULL THEN job END AS details
    FROM message WHERE ${oneOf('sequence')} ORDER BY sequence`),
  abandoned: query<{ sequence: number }>(`
    DELETE FROM outgoing
    WHERE ${among('sequence', `FROM outgoing WHERE queue = ? AND held_until <= ? ORDER BY held_until ${upTo}`)}
    RETURNING sequence`),
  confirm: change(`DELETE FROM outgoing WHERE ${oneOf('sequence')}`),
  returnToOutbox: change(`
    UPDATE message SET ${waits} WHERE ${oneOf('sequence')} AND generation${byKey} = ? AND ${isCarried}`),
  release: query<RemovedRow>(`
    DELETE FROM message
    WHERE ${oneOf('sequence')} AND generation${byKey} = ? AND ${isCarried}
      AND job_type IS NULL AND unit IS NULL AND NOT ${isKeptTrack}
    RETURNING sequence, state, group_name, body IS NULL AS apart`),
  // What was handed over first is lost first.
  lost: query<{ sequence: number }>(`
    SELECT sequence FROM (
      SELECT sequence, held_until FROM message /*sqlite INDEXED BY message_bucket */
      WHERE generation = ? AND bucket = '${carrierBucket}' ORDER BY sequence LIMIT ${sliceRows}
    ) AS first_ones
    WHERE held_until < ? AND NOT EXISTS (
      SELECT 1 FROM outgoing WHERE outgoing.sequence = first_ones.sequence ${perRow}
    )`),
  // Enough to know which kinds are near their ceilings.
  carried: query<CarriedKind>(`
    SELECT type, tenant, limit_keys, count(*) AS count FROM (
      SELECT job_type AS type, group_name AS tenant, limit_keys
      FROM message /*sqlite INDEXED BY message_bucket */
      WHERE generation = ? AND bucket = '${carrierBucket}' ORDER BY sequence LIMIT ${countedMax}
    ) AS first_ones GROUP BY type, tenant, limit_keys`),
}

interface HandedRow extends MessageRow {
  readonly is_tracked: 0 | 1
  readonly details: string | null
}

interface CarriedKind {
  readonly type: string | null
  readonly tenant: string | null
  readonly limit_keys: string | null
  readonly count: number
}

export function* takeOutgoing(
  tx: Transaction,
  { queue: name, max, holdMs }: TakeOutgoing,
): Steps<readonly OutgoingMessage[]> {
  const queue = yield* tx.queue(name)
  yield* endDueForReceive(tx, queue)
  const abandoned = yield* tx.all(sql.abandoned, queue.id, tx.now, sliceRows)
  yield* returnToOutbox(
    tx,
    queue,
    abandoned.map(({ sequence }) => sequence),
  )
  if (yield* isKept(tx, queue)) return []
  yield* resendExpired(tx, queue)
  const rows = yield* openRows(tx, queue, max)
  if (rows.length === 0) return []
  const sequences = JSON.stringify(rows.map(({ sequence }) => sequence))
  yield* tx.run(sql.hand, tx.now, sequences)
  yield* tx.run(sql.note, queue.id, tx.now + holdMs, sequences)
  yield* noteInGroups(tx, queue, rows)
  tx.wroteRow(queue)
  return yield* inTurn(yield* tx.all(sql.handed, queue.id, sequences), function* (row) {
    const job = jobIn(row)
    // Where messages count under a ceiling, all of them are tracked.
    const isTracked = job !== null || row.unit !== null || row.is_tracked === 1 || queue.isLimited
    const { id, ...message } = yield* peekedFromRow(row, tx)
    const named = isTracked ? tx.messageIds.of(row.sequence) : id
    return { ...message, id: named, isTracked, job, details: row.details }
  })
}

function jobIn({ job, receive_count: attemptsMade }: ContentRow): OutgoingJob | null {
  if (job === null) return null
  const { type, max: maxAttempts } = decodeDetails(job)
  return { type, attemptsMade, maxAttempts }
}

/** What may be sent now, oldest first; what may not is put into its bucket. */
function* openRows(tx: Transaction, queue: Queue, max: number): Steps<readonly ContentRow[]> {
  const gate = yield* gateOf({ view: tx, queue, heldNames: undefined })
  if (gate?.isHeld) return []
  if (gate === undefined || queue.settings.type === 'fifo') {
    return yield* lasting(tx, queue, yield* oldestReady(tx, queue, max))
  }
  yield* countCarried(tx, queue, gate)
  const count = Math.min(max, gate.room)
  const taken: ContentRow[] = []
  for (const { name, kind } of yield* bucketsOf(tx, queue)) {
    yield* gate.prepare(kind)
    if (gate.verdict(kind) === 'closed') continue
    yield* takeOpen(tx, queue, gate, {
      from: yield* inBucket(tx, queue, name, count),
      count,
      taken,
    })
  }
  // What may not be sent goes into buckets, so the next look finds what is behind it.
  for (let looks = 0; looks < looksMax && taken.length < count; looks += 1) {
    const from = yield* oldestReady(tx, queue, sliceRows)
    yield* takeOpen(tx, queue, gate, { from, count, taken })
    if (from.length < sliceRows || taken.length > 0) break
  }
  return taken
}

/** What is at the carrier may run soon, so it uses room under the ceilings already. */
function* countCarried(tx: Transaction, queue: Queue, gate: Gate): Steps<void> {
  for (const { type, tenant, limit_keys, count } of yield* tx.all(sql.carried, queue.generation)) {
    gate.take({ type, tier: null, tenant, keys: keysOf(queue, limit_keys) }, count)
  }
}

interface Taking {
  readonly from: readonly ContentRow[]
  readonly count: number
  readonly taken: ContentRow[]
}

function* takeOpen(
  tx: Transaction,
  queue: Queue,
  gate: Gate,
  { from, count, taken }: Taking,
): Steps<void> {
  for (const row of yield* lasting(tx, queue, from)) {
    if (taken.length >= count) return
    if ((yield* stop(tx, queue, row, gate)) === undefined) taken.push(row)
  }
}

function* lasting(
  tx: Transaction,
  queue: Queue,
  rows: readonly ContentRow[],
): Steps<readonly ContentRow[]> {
  return yield* filtered(rows, function* (row) {
    // What was received too often is dead-lettered when it arrives.
    if (expiryOf(queue, row, row.job !== null) > tx.now) return true
    return !(yield* isSetAside(tx, queue, row))
  })
}

export function* confirmSent(
  tx: Transaction,
  { queue: name, sequences }: SentMessages,
): Steps<void> {
  const queue = yield* tx.queue(name)
  const list = JSON.stringify(sequences)
  yield* tx.run(sql.confirm, list)
  tx.wroteRow(queue)
  for (const row of queue.isLimited
    ? []
    : yield* tx.all(sql.release, list, queue.generation, queue.id)) {
    yield* messageRemoved(tx, queue, row)
  }
}

export function* untake(tx: Transaction, { queue: name, sequences }: SentMessages): Steps<void> {
  const queue = yield* tx.queue(name)
  yield* tx.run(sql.confirm, JSON.stringify(sequences))
  tx.wroteRow(queue)
  yield* returnToOutbox(tx, queue, sequences)
}

function* returnToOutbox(tx: Transaction, queue: Queue, sequences: readonly number[]): Steps<void> {
  if (sequences.length === 0) return
  yield* tx.run(sql.returnToOutbox, JSON.stringify(sequences), queue.generation)
  tx.gainedReady(queue)
}

/** The carrier keeps nothing for longer than its queue. */
function* resendExpired(tx: Transaction, queue: Queue): Steps<void> {
  const before = tx.now - queue.settings.retentionMs
  const lost = yield* tx.all(sql.lost, queue.generation, before)
  const sequences = lost.map(({ sequence }) => sequence)
  yield* returnToOutbox(tx, queue, sequences)
}

/** Messages of a FIFO queue left the ready order, or returned to it. */
export function* noteInGroups(
  tx: Transaction,
  queue: Queue,
  rows: readonly Pick<ContentRow, 'group_name'>[],
): Steps<void> {
  if (queue.settings.type !== 'fifo') return
  const groups = new Set(rows.flatMap(({ group_name }) => group_name ?? []))
  for (const group of groups) yield* groupChanged(tx, queue.generation, group)
}
