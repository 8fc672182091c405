/**
 * Buckets hold ready messages that a claim has found and may not take. They leave the ready order, so a
 * hundred thousand of them cost the next claim nothing, and wait in the order of sending with others
 * of their kind. Outside of the store they are ready.
 */

import type { LimitValues } from '../../core/limit-keys.ts'
import { decodeDetails } from '../jobs/job-details.ts'
import type { Queue } from '../queues/queue.ts'
import {
  among,
  arrayQuery,
  change,
  forUpdate,
  type Query,
  query,
  skipLocked,
  upTo,
} from '../statements.ts'
import type { Steps } from '../steps.ts'
import type { Transaction, View } from '../transaction.ts'
import type { ContentRow } from './content-row.ts'
import { blocked, type ContentValues, contents, keyedColumns } from './message-rows.ts'

/** The bucket of leased messages, where their number is limited. It sorts before all others. */
export const runningBucket = ''

/** The bucket of messages that a carrier has. It sorts behind the first and before all others. */
export const carrierBucket = '@'

/** The first bucket after one of a name, and its first message. */
export const nextBucket: Query<{ bucket: string; sequence: number }> = query(`
  SELECT bucket, sequence FROM message /*sqlite INDEXED BY message_bucket */
  WHERE generation = ? AND bucket > ? ORDER BY bucket, sequence LIMIT 1`)

const sql = {
  pick: arrayQuery<ContentValues>(`
    SELECT ${keyedColumns} FROM message /*sqlite INDEXED BY message_bucket */
    WHERE generation = ? AND bucket = ? ORDER BY sequence ${upTo} ${skipLocked}`),
  // Blocked messages are read in the order of sending; since when they could be received is kept beside.
  block: change(`
    UPDATE message SET
      state = ${blocked}, bucket = ?, due_at = sent_at,
      held_until = CASE state WHEN ${blocked} THEN held_until ELSE due_at END
    WHERE sequence = ? AND (state = 0 OR state = ${blocked})`),
  unblock: change(`
    UPDATE message SET
      state = 0, bucket = NULL, due_at = coalesce(held_until, due_at), held_until = NULL
    WHERE ${among(
      'sequence',
      `FROM message /*sqlite INDEXED BY message_bucket */
      WHERE generation = ? AND bucket > '${runningBucket}' AND sequence <= ? ${upTo}`,
      forUpdate,
    )}`),
}

/** What decides whether a message may be taken. A plain message has no type. */
export interface Kind {
  readonly type: string | null
  readonly tier: string | null
  readonly tenant: string | null
  /** Values of the keys that the queue has ceilings for; null when there are none. */
  readonly keys: LimitValues | null
}

export function kindOf(queue: Queue, { job, group_name: tenant, limit_keys }: ContentRow): Kind {
  const keys = keysOf(queue, limit_keys)
  if (job === null) return { type: null, tier: null, tenant, keys }
  const { type, tier = null } = decodeDetails(job)
  return { type, tier, tenant, keys }
}

/** Values of keys that had a ceiling when the message was stored, and have one still. */
export function keysOf(queue: Queue, stored: string | null | undefined): LimitValues | null {
  const { perKey } = queue.settings.ceilings
  if (perKey.length === 0 || stored === null || stored === undefined) return null
  const values: LimitValues = JSON.parse(stored)
  const known = perKey.filter(({ key }) => Object.hasOwn(values, key))
  // Nearly always, and a queue may have thousands of these.
  if (known.length === 1 && Object.keys(values).length === 1) return values
  if (known.length === 0) return null
  return Object.fromEntries(known.map(({ key }) => [key, values[key] ?? '']))
}

export interface Bucket {
  readonly name: string
  readonly kind: Kind
  /** The sequence number of its first message. */
  readonly head: number
}

/** Sorts buckets next to each other that take turns together: those of a tenant with the same keys. */
export function bucketName({ tenant, type, tier, keys }: Kind): string {
  return JSON.stringify([keys === null ? tenant : [tenant, keys], type, tier])
}

export function isSameTurn(one: Kind, other: Kind): boolean {
  if (one.tenant !== other.tenant) return false
  if (one.keys === null && other.keys === null) return true
  const names = Object.keys(one.keys ?? {})
  return (
    names.length === Object.keys(other.keys ?? {}).length &&
    names.every((name) => one.keys?.[name] === other.keys?.[name])
  )
}

type BucketParts = readonly [
  turn: string | null | readonly [tenant: string | null, keys: LimitValues],
  type: string | null,
  tier: string | null,
]

function kindOfBucket(name: string): Kind {
  const [turn, type, tier]: BucketParts = JSON.parse(name)
  const [tenant, keys] = typeof turn === 'object' && turn !== null ? turn : [turn, null]
  return { tenant, type, tier, keys }
}

/** The first bucket, or the first after the one of this name. */
export function* bucketAfter(
  view: View,
  queue: Queue,
  name: string = carrierBucket,
): Steps<Bucket | undefined> {
  const row = yield* view.one(nextBucket, queue.generation, name)
  if (row === undefined) return undefined
  return { name: row.bucket, kind: kindOfBucket(row.bucket), head: row.sequence }
}

export function* hasBuckets(view: View, queue: Queue): Steps<boolean> {
  return (yield* view.one(nextBucket, queue.generation, carrierBucket)) !== undefined
}

/** The first messages of a bucket. */
export function* inBucket(
  view: View,
  queue: Queue,
  bucket: string,
  count: number,
): Steps<readonly ContentRow[]> {
  return yield* contents(view, sql.pick, queue.generation, bucket, count)
}

/** Puts a message into a bucket, until the bucket opens or the message expires. */
export function* block(
  tx: Transaction,
  queue: Queue,
  row: ContentRow,
  bucket: string,
): Steps<void> {
  yield* tx.run(sql.block, bucket, row.sequence)
  tx.wroteRow(queue)
}

/** Returns blocked messages, up to a sequence number, to the ready order. */
export function* unblock(
  tx: Transaction,
  queue: Queue,
  { lastSequence, count }: { readonly lastSequence: number; readonly count: number },
): Steps<void> {
  if ((yield* tx.one(nextBucket, queue.generation, runningBucket)) === undefined) return
  yield* tx.run(sql.unblock, queue.generation, lastSequence, count)
  tx.wroteRow(queue)
}

/** All buckets, in the order of their names; at most as many as given. */
export function* bucketsOf(
  view: View,
  queue: Queue,
  countMax: number = Number.POSITIVE_INFINITY,
): Steps<readonly Bucket[]> {
  const buckets: Bucket[] = []
  let bucket = yield* bucketAfter(view, queue)
  while (bucket !== undefined && buckets.length < countMax) {
    buckets.push(bucket)
    bucket = yield* bucketAfter(view, queue, bucket.name)
  }
  return buckets
}
