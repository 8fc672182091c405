/**
 * Buckets hold ready messages that a claim has found and may not take. They leave the ready order, so a
 * hundred thousand of them cost the next claim nothing, and wait in the order of sending with others
 * of their kind. Outside of the store they are ready.
 */

import type { Session } from '../driver/session.ts'
import { arrayQuery, change, query, upTo } from '../driver/statements.ts'
import type { StoreTransaction } from '../driver/transaction.ts'
import { decodeDetails } from '../jobs/job-details.ts'
import type { Queue } from '../queues/queue-cache.ts'
import {
  blocked,
  type ContentRow,
  type ContentValues,
  contentColumns,
  contents,
} from './message-rows.ts'

/** The bucket of leased messages, where their number is limited. It sorts before all others. */
export const runningBucket = ''

const sql = {
  next: query<{ bucket: string; sequence: number }>(`
    SELECT bucket, sequence FROM message INDEXED BY message_bucket
    WHERE generation = ? AND bucket > ? ORDER BY bucket, sequence LIMIT 1`),
  pick: arrayQuery<ContentValues>(`
    SELECT ${contentColumns} FROM message INDEXED BY message_bucket
    WHERE generation = ? AND bucket = ? ORDER BY sequence ${upTo}`),
  // Blocked messages are read in the order of sending; since when they could be received is kept beside.
  block: change(`
    UPDATE message SET
      state = ${blocked}, bucket = ?, due_at = sent_at,
      held_until = CASE state WHEN ${blocked} THEN held_until ELSE due_at END
    WHERE sequence = ? AND (state = 0 OR state = ${blocked})`),
  unblock: change(`
    UPDATE message SET
      state = 0, bucket = NULL, due_at = coalesce(held_until, due_at), held_until = NULL
    WHERE sequence IN (
      SELECT sequence FROM message INDEXED BY message_bucket
      WHERE generation = ? AND bucket > '${runningBucket}' AND sequence <= ? ${upTo}
    )`),
}

/** What decides whether a message may be taken. A plain message has no type. */
export interface Kind {
  readonly type: string | null
  readonly tier: string | null
  readonly tenant: string | null
}

export function kindOf({ job, group_name: tenant }: ContentRow): Kind {
  if (job === null) return { type: null, tier: null, tenant }
  const { type, tier = null } = decodeDetails(job)
  return { type, tier, tenant }
}

export interface Bucket {
  readonly name: string
  readonly kind: Kind
  /** The sequence number of its first message. */
  readonly head: number
}

/** Sorts the buckets of a tenant next to each other. */
export function bucketName({ tenant, type, tier }: Kind): string {
  return JSON.stringify([tenant, type, tier])
}

/** The first bucket, or the first after the one of this name. */
export function bucketAfter(
  session: Session,
  queue: Queue,
  name: string = runningBucket,
): Bucket | undefined {
  const row = session.one(sql.next, queue.generation, name)
  if (row === undefined) return undefined
  const [tenant, type, tier]: [string | null, string | null, string | null] = JSON.parse(row.bucket)
  return { name: row.bucket, kind: { tenant, type, tier }, head: row.sequence }
}

export function hasBuckets(session: Session, queue: Queue): boolean {
  return session.one(sql.next, queue.generation, runningBucket) !== undefined
}

/** The first messages of a bucket. */
export function inBucket(
  session: Session,
  queue: Queue,
  bucket: string,
  count: number,
): readonly ContentRow[] {
  return contents(session, sql.pick, queue.generation, bucket, count)
}

/** Puts a message into a bucket, until the bucket opens or the message expires. */
export function block(tx: StoreTransaction, queue: Queue, row: ContentRow, bucket: string): void {
  tx.run(sql.block, bucket, row.sequence)
  tx.wroteRow(queue)
}

/** Returns blocked messages, up to a sequence number, to the ready order. */
export function unblock(
  tx: StoreTransaction,
  queue: Queue,
  { lastSequence, count }: { readonly lastSequence: number; readonly count: number },
): void {
  if (!hasBuckets(tx.session, queue)) return
  tx.run(sql.unblock, queue.generation, lastSequence, count)
  tx.wroteRow(queue)
}

export function* bucketsOf(session: Session, queue: Queue): Generator<Bucket> {
  let bucket = bucketAfter(session, queue)
  while (bucket !== undefined) {
    yield bucket
    bucket = bucketAfter(session, queue, bucket.name)
  }
}
