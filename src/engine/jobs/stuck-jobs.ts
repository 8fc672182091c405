/**
 * Finds jobs that wait or run for too long. A stuck job is old, and so it is at the head of its order:
 * a search reads a bounded number of rows from there.
 */

import type { FindStuck, StuckJob } from '../../backends/job-store.ts'
import { bucketsOf, carrierBucket, type Kind, kindOf } from '../messages/buckets.ts'
import type { ContentRow } from '../messages/content-row.ts'
import { gateOf } from '../messages/gates.ts'
import { blocked, keyedColumns, unleasedToken } from '../messages/message-rows.ts'
import type { Queue } from '../queues/queue.ts'
import { byKey, perRow, query } from '../statements.ts'
import type { Steps } from '../steps.ts'
import type { View } from '../transaction.ts'

/** Rows of one order that are read. */
const readyMax = 500
const leasedMax = 5_000
const bucketsMax = 50

/** A blocked message keeps the time since when it could be received in `held_until`. */
const columns = `${keyedColumns}, coalesce(held_until, due_at) AS since`

const sql = {
  // A message that returned to ready keeps the end of its last lease or delay as the time it was due.
  // In a FIFO group nothing is delivered behind a message that is leased.
  ready: query<WaitingRow>(`
    SELECT ${columns} FROM (
      SELECT * FROM message /*sqlite INDEXED BY message_ready */
      WHERE generation = ? AND state = 0 ORDER BY sequence LIMIT ${readyMax}
    ) AS head
    WHERE job_type IS NOT NULL AND due_at <= ? AND NOT EXISTS (
      SELECT 1 FROM fifo_group
      WHERE fifo_group.generation = head.generation AND name = group_name
        AND first_leased IS NOT NULL ${perRow}
    )`),
  carried: query<WaitingRow>(`
    SELECT ${columns} FROM (
      SELECT * FROM message /*sqlite INDEXED BY message_bucket */
      WHERE generation = ? AND bucket = '${carrierBucket}' ORDER BY sequence LIMIT ${readyMax}
    ) AS head
    WHERE job_type IS NOT NULL AND held_until <= ? AND NOT EXISTS (
      SELECT 1 FROM fifo_group
      WHERE fifo_group.generation = head.generation AND name = group_name
        AND first_leased IS NOT NULL ${perRow}
    )`),
  blocked: query<WaitingRow>(`
    SELECT ${columns} FROM message
    WHERE sequence = ? AND state${byKey} = ${blocked} AND job_type IS NOT NULL AND held_until <= ?`),
  leased: query<Found>(`
    SELECT sequence, job_type AS type, leased_at AS since FROM (
      SELECT * FROM message /*sqlite INDEXED BY message_due */
      WHERE generation = ? AND state = 1 AND state > 0 AND due_at > ? LIMIT ${leasedMax}
    ) AS head
    WHERE job_type IS NOT NULL AND token <> ${unleasedToken} AND leased_at <= ?
    ORDER BY leased_at`),
  latestSwitchEvent: query<{ at: number | null }>('SELECT max(at) AS at FROM kill_switch_event'),
}

interface WaitingRow extends ContentRow {
  readonly since: number
}

interface Found {
  readonly sequence: number
  readonly type: string
  readonly since: number
}

export function* stuckJobs(view: View, request: FindStuck): Steps<readonly StuckJob[]> {
  const { now } = view
  const queue = yield* view.queue(request.queue)
  const cutoff = now - request.olderThanMs
  const found =
    request.status === 'processing'
      ? yield* view.all(sql.leased, queue.generation, now, cutoff)
      : yield* waiting(view, queue, { ...request, cutoff })
  return found
    .slice(0, request.limit)
    .map(({ sequence, type, since }) => ({ id: view.messageIds.of(sequence), type, since }))
}

interface Look extends Pick<FindStuck, 'heldNames'> {
  readonly cutoff: number
}

function* waiting(view: View, queue: Queue, look: Look): Steps<readonly Found[]> {
  const isHeld = yield* holderOf(view, queue, look)
  if (isHeld === 'all') return []
  const { cutoff } = look
  const rows = [
    ...(yield* view.all(sql.ready, queue.generation, cutoff)),
    ...(yield* view.all(sql.carried, queue.generation, cutoff)),
  ]
  const found = [
    ...rows.map((row) => ({ row, since: row.since })),
    ...(yield* inBuckets(view, queue, cutoff)),
  ]
  return found
    .filter(({ row }) => !isHeld(kindOf(queue, row)))
    .map(({ row, since }) => ({
      sequence: row.sequence,
      type: kindOf(queue, row).type ?? '',
      since,
    }))
    .toSorted((one, other) => one.since - other.since)
}

/** The first jobs of buckets, which may be open again although no claim has noticed. */
function* inBuckets(
  view: View,
  queue: Queue,
  cutoff: number,
): Steps<readonly { readonly row: WaitingRow; readonly since: number }[]> {
  const turnedAt = (yield* view.one(sql.latestSwitchEvent))?.at ?? 0
  // A switch that was lifted a moment ago has kept them until then.
  if (turnedAt > cutoff) return []
  const found: { readonly row: WaitingRow; readonly since: number }[] = []
  let buckets = 0
  for (const { head } of yield* bucketsOf(view, queue)) {
    const row = yield* view.one(sql.blocked, head, cutoff)
    if (row !== undefined) found.push({ row, since: Math.max(row.since, turnedAt) })
    buckets += 1
    if (buckets === bucketsMax) break
  }
  return found
}

/** Whether a kind of job is held by a switch or a ceiling, or all of them are. */
function* holderOf(
  view: View,
  queue: Queue,
  { heldNames }: Look,
): Steps<((kind: Kind) => boolean) | 'all'> {
  const gate = yield* gateOf({ view, queue, heldNames })
  if (gate === undefined) return () => false
  if (gate.isHeld) return 'all'
  // Where work runs under a ceiling, others wait for it, also when there is room for a moment.
  return (kind) => gate.verdict(kind) !== 'open' || gate.isShared(kind)
}
