/** The row of a message, and how it becomes a record of the port. */

import type { DeadLetterOrigin, Delivery, PeekedMessage, UnitKey } from '../../backends/backend.ts'
import { decodeAttributes } from '../../backends/message-attributes.ts'
import type { MessageState } from '../../core/message.ts'
import { unitKeyOf } from '../flows/flow-units.ts'
import { deliveredJob } from '../jobs/job-details.ts'
import { wasLost } from '../jobs/job-history.ts'
import type { Queue } from '../queues/queue.ts'
import type { Value } from '../statements.ts'
import {
  arrayQuery,
  change,
  type Query,
  query,
  type Statement,
  skipLocked,
  upTo,
} from '../statements.ts'
import type { Steps } from '../steps.ts'
import type { View } from '../transaction.ts'
import type { ContentRow } from './content-row.ts'

/** States as they are stored. */
export const ready = 0
export const leased = 1
export const delayed = 2
/** Ready, but kept in a bucket until it may be taken. */
export const blocked = 3

/** No lease has this token; those that are given out rise from here. */
export const unleasedToken: number = 2 ** 40

export const stateNames: readonly MessageState[] = ['ready', 'leased', 'delayed']

export function countNameOf(state: number): 'ready' | 'leased' | 'delayed' {
  if (state === leased) return 'leased'
  return state === delayed ? 'delayed' : 'ready'
}

/** Bodies above this many UTF-16 units are kept apart: a quarter of a page at the least. */
const inlineLengthMax = 1_024

/** In the order of `contentFromValues`. */
export const contentColumns = `sequence, receive_count,
  coalesce(first_received_at, leased_at) AS first_received_at, sent_at, id, group_name,
  deduplication_id, origin, attributes, body,
  CASE WHEN job_type IS NOT NULL THEN job END AS job, unit, expires_at`

/** The same, for the claims of a queue with ceilings by key. */
export const keyedColumns: string = `${contentColumns}, limit_keys`

/**
 * A row that was read as an array. SQLite's rows arrive as objects without a fixed shape, which are
 * slow to make and to read; a receive, which reads many, makes its own.
 */
export function contentFromValues(values: ContentValues): ContentRow {
  return {
    sequence: values[0],
    receive_count: values[1],
    first_received_at: values[2],
    sent_at: values[3],
    id: values[4],
    group_name: values[5],
    deduplication_id: values[6],
    origin: values[7],
    attributes: values[8],
    body: values[9],
    job: values[10],
    unit: values[11],
    expires_at: values[12],
    limit_keys: values.length > 13 ? values[13] : null,
  }
}

/** Runs a query of `contentColumns`, which gives arrays. */
export function* contents(
  view: View,
  pick: Query<ContentValues>,
  ...values: readonly Value[]
): Steps<readonly ContentRow[]> {
  return (yield* view.all(pick, ...values)).map(contentFromValues)
}

export type ContentValues = readonly [
  sequence: number,
  receiveCount: number,
  firstReceivedAt: number,
  sentAt: number,
  id: string | null,
  group: string | null,
  deduplicationId: string | null,
  origin: string | null,
  attributes: string | null,
  body: string | null,
  job: string | null,
  unit: number | null,
  expiresAt: number | null,
  limitKeys?: string | null,
]

const readyRows = (columns: string): Query<ContentValues> =>
  arrayQuery(`
    SELECT ${columns} FROM message /*sqlite INDEXED BY message_ready */
    WHERE generation = ? AND state = 0 ORDER BY sequence ${upTo} ${skipLocked}`)
const pickReady = readyRows(contentColumns)
const pickReadyKeyed = readyRows(keyedColumns)

/** The first messages of a queue that are ready, in the order of sending. */
export function* oldestReady(
  view: View,
  queue: Queue,
  count: number,
): Steps<readonly ContentRow[]> {
  const isKeyed = queue.settings.ceilings.perKey.length > 0
  return yield* contents(view, isKeyed ? pickReadyKeyed : pickReady, queue.generation, count)
}

export const messageColumns: string = `${contentColumns}, generation, state, due_at, held_until, token, leased_at`

export interface MessageRow extends ContentRow {
  readonly generation: number
  readonly state: number
  readonly due_at: number
  readonly held_until: number | null
  readonly token: number
  readonly leased_at: number
}

const sql = {
  readLargeBody: query<{ body: string }>('SELECT body FROM message_body WHERE sequence = ?'),
}

export const removeMessage: Statement = change('DELETE FROM message WHERE sequence = ?')

export const dropLargeBody: Statement = change('DELETE FROM message_body WHERE sequence = ?')

export const renumberLargeBody: Statement = change(
  'UPDATE message_body SET sequence = ? WHERE sequence = ?',
)

export function isLargeBody(body: string): boolean {
  return body.length > inlineLengthMax
}

export interface Lease {
  readonly queueId: number
  readonly token: number
  readonly leasedAt: number
  readonly leaseExpiresAt: number
  readonly receiveCount: number
  readonly firstReceivedAt: number
}

/** Whether the row is all that a delivery needs. */
export function isComplete({ body, unit }: ContentRow, { receiveCount }: Lease): boolean {
  return body !== null && unit === null && receiveCount === 1
}

export function* deliveryFromRow(row: ContentRow, view: View, lease: Lease): Steps<Delivery> {
  const { sequence, unit } = row
  const before = lease.receiveCount - 1
  const body = row.body ?? (yield* largeBodyOf(row, view))
  const lostBefore = row.job !== null && before > 0 && (yield* wasLost(view, sequence, before))
  const key = unit === null ? null : yield* unitKeyOf(view, unit)
  return deliveryOf(row, view, lease, body, lostBefore, key)
}

/** The delivery of a row that is complete. */
export function plainDelivery(row: ContentRow, view: View, lease: Lease): Delivery {
  return deliveryOf(row, view, lease, row.body ?? '', false, null)
}

// Both records are written out: this runs for every delivery, and spreading objects is slow.

function deliveryOf(
  row: ContentRow,
  view: View,
  lease: Lease,
  body: string,
  lostBefore: boolean,
  unit: UnitKey | null,
): Delivery {
  const { sequence } = row
  const { queueId, token, leasedAt, leaseExpiresAt, receiveCount, firstReceivedAt } = lease
  const { attributes, systemAttributes } = decodeAttributes(row.attributes)
  const id = view.messageIds.of(sequence)
  return {
    id: row.id ?? id,
    sequence,
    body,
    attributes,
    systemAttributes,
    group: row.group_name,
    deduplicationId: row.deduplication_id,
    sentAt: row.sent_at,
    firstReceivedAt,
    receiveCount,
    deadLetterOrigin: decodeOrigin(row.origin),
    receipt: view.receipts.format({ queueId, sequence, token }),
    token,
    leasedAt,
    leaseExpiresAt,
    job: row.job === null ? null : deliveredJob(row.job, { id, attempt: receiveCount, lostBefore }),
    unit,
  }
}

export function* peekedFromRow(row: MessageRow, view: View): Steps<PeekedMessage> {
  const { attributes, systemAttributes } = decodeAttributes(row.attributes)
  return {
    id: row.id ?? view.messageIds.of(row.sequence),
    sequence: row.sequence,
    body: row.body ?? (yield* largeBodyOf(row, view)),
    attributes,
    systemAttributes,
    group: row.group_name,
    deduplicationId: row.deduplication_id,
    sentAt: row.sent_at,
    firstReceivedAt: row.receive_count === 0 ? null : row.first_received_at,
    receiveCount: row.receive_count,
    deadLetterOrigin: decodeOrigin(row.origin),
    state: stateNames[row.state] ?? 'ready',
    dueAt: countNameOf(row.state) === 'ready' ? null : (row.held_until ?? row.due_at),
  }
}

function* largeBodyOf({ sequence }: ContentRow, view: View): Steps<string> {
  return (yield* view.one(sql.readLargeBody, sequence))?.body ?? ''
}

function decodeOrigin(text: string | null): DeadLetterOrigin | null {
  return text === null ? null : JSON.parse(text)
}
