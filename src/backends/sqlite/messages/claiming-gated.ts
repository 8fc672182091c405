/**
 * Claims from standard queues in which not everything may be taken: some of it is held by a kill
 * switch, or a ceiling is reached for its type, its tenant or a key. What may not be taken goes into a
 * bucket, at most a slice of it with each claim; buckets that are open are served first come, first served
 * with what is ready, or in turn where tenants or keys have a ceiling.
 */

import type { Delivery } from '../../backend.ts'
import type { StoreTransaction } from '../driver/transaction.ts'
import type { Queue } from '../queues/queue-cache.ts'
import {
  type Bucket,
  block,
  bucketAfter,
  bucketName,
  bucketsOf,
  hasBuckets,
  inBucket,
  isSameTurn,
  kindOf,
  runningBucket,
} from './buckets.ts'
import { expireBlocked, sliceRows } from './elapsed-time.ts'
import type { Gate } from './gates.ts'
import {
  type Claim,
  isNewAndLasting,
  isSetAside,
  leaseOrSetAside,
  leaseTogether,
} from './leasing.ts'
import { type ContentRow, oldestReady } from './message-rows.ts'

export interface GatedClaim extends Claim {
  readonly gate: Gate
}

export function claimGated(
  tx: StoreTransaction,
  queue: Queue,
  claim: GatedClaim,
): readonly Delivery[] {
  // The next turn depends on every claim before it, so all of them must count their turns.
  if (servesInTurn(queue)) return claimInTurn(tx, queue, claim)
  const together = hasBuckets(tx.session, queue) ? undefined : claimTogether(tx, queue, claim)
  return together ?? claimByAge(tx, queue, claim)
}

/**
 * Tenants and values of keys that have a ceiling take turns, so that the one with most messages is not the
 * only one.
 */
function servesInTurn({ settings: { ceilings } }: Queue): boolean {
  return ceilings.runningPerTenant !== null || ceilings.perKey.length > 0
}

/** The quick way, when the first messages are new and may all be taken; undefined when not. */
function claimTogether(
  tx: StoreTransaction,
  queue: Queue,
  claim: GatedClaim,
): readonly Delivery[] | undefined {
  const rows = oldestReady(tx.session, queue, claim.max)
  if (!rows.every((row) => isNewAndLasting(queue, row, claim))) return undefined
  if (rows.some((row) => claim.noisy.has(row.group_name))) return undefined
  if (!claim.gate.takeAll(rows.map((row) => kindOf(queue, row)))) return undefined
  return leaseTogether(tx, queue, rows, claim)
}

/**
 * Takes the oldest message that may be taken, wherever it waits, again and again; those of noisy
 * tenants go into buckets meanwhile, and have what is then left to give.
 */
function claimByAge(tx: StoreTransaction, queue: Queue, claim: GatedClaim): readonly Delivery[] {
  const ready = new Source(undefined, claim.max, (count) => oldestReady(tx.session, queue, count))
  const isQuiet = ({ kind }: Bucket): boolean => !claim.noisy.has(kind.tenant)
  const quiet = sourcesOf(tx, queue, claim, isQuiet)
  const deliveries = takeByAge(tx, queue, claim, [ready, ...quiet])
  if (deliveries.length === claim.max) return deliveries
  const rest = { ...claim, max: claim.max - deliveries.length, budget: { setAside: sliceRows } }
  const noisy = sourcesOf(tx, queue, rest, (bucket) => !isQuiet(bucket))
  return noisy.length === 0 ? deliveries : [...deliveries, ...takeByAge(tx, queue, rest, noisy)]
}

function takeByAge(
  tx: StoreTransaction,
  queue: Queue,
  claim: GatedClaim,
  sources: readonly Source[],
): readonly Delivery[] {
  const deliveries: Delivery[] = []
  while (deliveries.length < claim.max && claim.budget.setAside > 0) {
    const source = oldest(sources, claim.gate)
    const row = source?.take()
    if (row === undefined) break
    if (source?.bucket === undefined && isOnlyNoisy(queue, row, claim)) {
      if (isSetAside(tx, queue, row)) readAgain(sources)
      else block(tx, queue, row, bucketName(kindOf(queue, row)))
      claim.budget.setAside -= 1
      continue
    }
    const claimed = leaseOrSetAside(tx, queue, row, claim)
    if (typeof claimed === 'object') deliveries.push(claimed)
    else if (claimed === 'ended') readAgain(sources)
  }
  return deliveries
}

function readAgain(sources: readonly Source[]): void {
  for (const source of sources) source.readAgain()
}

/** A noisy tenant's message that could otherwise be taken. */
function isOnlyNoisy(queue: Queue, row: ContentRow, { noisy, gate }: GatedClaim): boolean {
  return noisy.has(row.group_name) && gate.verdict(kindOf(queue, row)) === 'open'
}

/** The buckets from which something may be taken, of those that are wanted. */
function sourcesOf(
  tx: StoreTransaction,
  queue: Queue,
  { gate, max }: GatedClaim,
  isWanted: (bucket: Bucket) => boolean,
): readonly Source[] {
  return [...bucketsOf(tx.session, queue)]
    .filter((bucket) => isWanted(bucket) && gate.verdict(bucket.kind) !== 'closed')
    .map(
      (bucket) =>
        new Source(bucket, max, (count) => inBucket(tx.session, queue, bucket.name, count)),
    )
}

/** The source with the oldest message, of those from which something may be taken at this point. */
function oldest(sources: readonly Source[], gate: Gate): Source | undefined {
  let best: Source | undefined
  for (const source of sources) {
    if (source.head === undefined || (best?.head ?? source.head) < source.head) continue
    if (source.bucket !== undefined && gate.verdict(source.bucket.kind) === 'closed') continue
    best = source
  }
  return best
}

/** Most rows read ahead from one source; what is read ahead in vain costs time. */
const readAheadMax = 200

/** Rows in order of sending, each of which leaves the place it was read from once it is taken. */
class Source {
  /** Undefined for the messages that are simply ready. */
  readonly bucket: Bucket | undefined
  readonly #read: (count: number) => readonly ContentRow[]
  #rows: readonly ContentRow[] = []
  #next = 0
  /** How many rows the next read asks for. */
  #size: number
  #state: 'unread' | 'reading' | 'exhausted' = 'unread'

  constructor(
    bucket: Bucket | undefined,
    size: number,
    read: (count: number) => readonly ContentRow[],
  ) {
    this.bucket = bucket
    this.#size = Math.min(size, readAheadMax)
    this.#read = read
  }

  /** The sequence number of the next row. */
  get head(): number | undefined {
    // The first of a bucket is known before any of its rows was read.
    if (this.#state === 'unread' && this.bucket !== undefined) return this.bucket.head
    return this.#first()?.sequence
  }

  take(): ContentRow | undefined {
    const row = this.#first()
    this.#next += 1
    return row
  }

  /** Forgets rows that were read ahead, because the messages may have changed. */
  readAgain(): void {
    if (this.#state === 'unread') return
    this.#rows = []
    this.#next = 0
    this.#size = 1
    this.#state = 'reading'
  }

  #first(): ContentRow | undefined {
    if (this.#next >= this.#rows.length && this.#state !== 'exhausted') {
      this.#rows = this.#read(this.#size)
      this.#next = 0
      this.#state = this.#rows.length < this.#size ? 'exhausted' : 'reading'
      // A claim that must read on has met many messages that it may not take.
      this.#size = Math.min(this.#size * 2, readAheadMax)
    }
    return this.#rows[this.#next]
  }
}

/** Takes one message of each tenant and key in turn, beginning after the one that was served last. */
function claimInTurn(tx: StoreTransaction, queue: Queue, claim: GatedClaim): readonly Delivery[] {
  // What has expired in a bucket costs no tenant its turn.
  expireBlocked(tx, queue)
  sortIntoBuckets(tx, queue, claim.gate)
  const { turns } = tx.session
  const deliveries: Delivery[] = []
  let isWorthARound = true
  while (isWorthARound) {
    isWorthARound = false
    for (const buckets of bucketsInTurn(tx, queue, turns.get(queue.id))) {
      if (deliveries.length >= claim.max || claim.budget.setAside <= 0) return deliveries
      const [first] = buckets
        .filter(({ kind }) => claim.gate.verdict(kind) !== 'closed')
        .sort((left, right) => left.head - right.head)
      if (first === undefined) continue
      isWorthARound = true
      turns.set(queue.id, buckets.at(-1)?.name ?? first.name)
      for (const row of inBucket(tx.session, queue, first.name, 1)) {
        const claimed = leaseOrSetAside(tx, queue, row, claim)
        if (typeof claimed === 'object') deliveries.push(claimed)
      }
    }
  }
  return deliveries
}

/** Puts what is ready into the buckets that take turns, oldest first; at most a slice of it. */
function sortIntoBuckets(tx: StoreTransaction, queue: Queue, gate: Gate): void {
  const rows = oldestReady(tx.session, queue, sliceRows)
  for (const row of rows) {
    if (!isSetAside(tx, queue, row)) block(tx, queue, row, gate.bucketFor(kindOf(queue, row)))
  }
}

/** The buckets of one turn after the other, once round, beginning after the bucket of this name. */
function* bucketsInTurn(
  tx: StoreTransaction,
  queue: Queue,
  start: string = runningBucket,
): Generator<readonly Bucket[]> {
  let bucket = bucketAfter(tx.session, queue, start)
  let hasWrapped = false
  while (bucket !== undefined || !hasWrapped) {
    if (bucket === undefined) {
      hasWrapped = true
      bucket = bucketAfter(tx.session, queue)
      if (bucket === undefined) return
    }
    const first = bucket
    const ofTurn: Bucket[] = []
    while (bucket !== undefined && isSameTurn(bucket.kind, first.kind)) {
      ofTurn.push(bucket)
      bucket = bucketAfter(tx.session, queue, bucket.name)
    }
    if (hasWrapped && isAfter(first.name, start)) return
    yield ofTurn
  }
}

/** In the order of the store, which compares bytes. */
function isAfter(left: string, right: string): boolean {
  return Buffer.compare(Buffer.from(left), Buffer.from(right)) > 0
}
