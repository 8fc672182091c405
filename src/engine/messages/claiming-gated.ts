/**
 * Claims from standard queues in which not everything may be taken: some of it is held by a kill
 * switch, or a ceiling is reached for its type, its tenant or a key. What may not be taken goes into a
 * bucket, at most a slice of it with each claim; buckets that are open are served first come, first served
 * with what is ready, or in turn where tenants or keys have a ceiling.
 */

import type { Delivery } from '../../backends/backend.ts'
import type { Queue } from '../queues/queue.ts'
import type { Step, Steps } from '../steps.ts'
import type { Transaction } from '../transaction.ts'
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
import type { ContentRow } from './content-row.ts'
import { expireBlocked, sliceRows } from './elapsed-time.ts'
import type { Gate } from './gates.ts'
import { type Claim, isNewAndLasting, isSetAside, leaseOrSetAside } from './leasing.ts'
import { oldestReady } from './message-rows.ts'

export interface GatedClaim extends Claim {
  readonly gate: Gate
}

export function* claimGated(
  tx: Transaction,
  queue: Queue,
  claim: GatedClaim,
): Steps<readonly Delivery[]> {
  // The next turn depends on every claim before it, so all of them must count their turns.
  if (servesInTurn(queue)) return yield* claimInTurn(tx, queue, claim)
  const together = (yield* hasBuckets(tx, queue))
    ? undefined
    : yield* claimTogether(tx, queue, claim)
  return together ?? (yield* claimByAge(tx, queue, claim))
}

/**
 * Tenants and values of keys that have a ceiling take turns, so that the one with most messages is not the
 * only one.
 */
function servesInTurn({ settings: { ceilings } }: Queue): boolean {
  return ceilings.runningPerTenant !== null || ceilings.perKey.length > 0
}

/** The quick way, when the first messages are new and may all be taken; undefined when not. */
function* claimTogether(
  tx: Transaction,
  queue: Queue,
  claim: GatedClaim,
): Steps<readonly Delivery[] | undefined> {
  const { noisy, gate } = claim
  const rows = yield* oldestReady(tx, queue, claim.max)
  if (!rows.every((row) => isNewAndLasting(queue, row, claim))) return undefined
  const kinds = rows.map((row) => kindOf(queue, row))
  yield* noisy.read(kinds.map(({ tenant }) => tenant))
  if (kinds.some(({ tenant }) => noisy.has(tenant))) return undefined
  for (const kind of kinds) yield* gate.prepare(kind)
  if (!gate.takeAll(kinds)) return undefined
  return yield* tx.messages.leaseNew(queue, rows, claim)
}

/**
 * Takes the oldest message that may be taken, wherever it waits, again and again; those of noisy
 * tenants go into buckets meanwhile, and have what is then left to give.
 */
function* claimByAge(tx: Transaction, queue: Queue, claim: GatedClaim): Steps<readonly Delivery[]> {
  const ready = new Source(undefined, claim.max, (count) => oldestReady(tx, queue, count))
  const quiet = yield* sourcesOf(tx, queue, claim, { isNoisy: false })
  const deliveries = yield* takeByAge(tx, queue, claim, [ready, ...quiet])
  if (deliveries.length === claim.max) return deliveries
  const rest = { ...claim, max: claim.max - deliveries.length, budget: { setAside: sliceRows } }
  const noisy = yield* sourcesOf(tx, queue, rest, { isNoisy: true })
  if (noisy.length === 0) return deliveries
  return [...deliveries, ...(yield* takeByAge(tx, queue, rest, noisy))]
}

function* takeByAge(
  tx: Transaction,
  queue: Queue,
  claim: GatedClaim,
  sources: readonly Source[],
): Steps<readonly Delivery[]> {
  const deliveries: Delivery[] = []
  while (deliveries.length < claim.max && claim.budget.setAside > 0) {
    const source = yield* oldest(sources, claim.gate)
    const row = source === undefined ? undefined : yield* source.take()
    if (row === undefined) break
    if (source?.bucket === undefined && (yield* isOnlyNoisy(queue, row, claim))) {
      if (yield* isSetAside(tx, queue, row)) readAgain(sources)
      else yield* block(tx, queue, row, bucketName(kindOf(queue, row)))
      claim.budget.setAside -= 1
      continue
    }
    const claimed = yield* leaseOrSetAside(tx, queue, row, claim)
    if (typeof claimed === 'object') deliveries.push(claimed)
    else if (claimed === 'ended') readAgain(sources)
  }
  return deliveries
}

function readAgain(sources: readonly Source[]): void {
  for (const source of sources) source.readAgain()
}

/** A noisy tenant's message that could otherwise be taken. */
function* isOnlyNoisy(queue: Queue, row: ContentRow, { noisy, gate }: GatedClaim): Steps<boolean> {
  yield* noisy.read([row.group_name])
  if (!noisy.has(row.group_name)) return false
  const kind = kindOf(queue, row)
  yield* gate.prepare(kind)
  return gate.verdict(kind) === 'open'
}

/** The buckets of quiet or of noisy tenants from which something may be taken. */
function* sourcesOf(
  tx: Transaction,
  queue: Queue,
  { gate, max, noisy }: GatedClaim,
  { isNoisy }: { readonly isNoisy: boolean },
): Steps<readonly Source[]> {
  const sources: Source[] = []
  for (const bucket of yield* bucketsOf(tx, queue)) {
    const { kind, name } = bucket
    yield* noisy.read([kind.tenant])
    if (noisy.has(kind.tenant) !== isNoisy) continue
    yield* gate.prepare(kind)
    if (gate.verdict(kind) === 'closed') continue
    sources.push(new Source(bucket, max, (count) => inBucket(tx, queue, name, count)))
  }
  return sources
}

/** The source with the oldest message, of those from which something may be taken at this point. */
function* oldest(sources: readonly Source[], gate: Gate): Steps<Source | undefined> {
  let best: { readonly source: Source; readonly head: number } | undefined
  for (const source of sources) {
    const head = yield* source.head()
    if (head === undefined || (best !== undefined && best.head < head)) continue
    if (source.bucket !== undefined && gate.verdict(source.bucket.kind) === 'closed') continue
    best = { source, head }
  }
  return best?.source
}

/** Most rows read ahead from one source; what is read ahead in vain costs time. */
const readAheadMax = 200

/** Rows in order of sending, each of which leaves the place it was read from once it is taken. */
class Source {
  /** Undefined for the messages that are simply ready. */
  readonly bucket: Bucket | undefined
  readonly #read: (count: number) => Step<readonly ContentRow[]>
  #rows: readonly ContentRow[] = []
  #next = 0
  /** How many rows the next read asks for. */
  #size: number
  #state: 'unread' | 'reading' | 'exhausted' = 'unread'

  constructor(
    bucket: Bucket | undefined,
    size: number,
    read: (count: number) => Step<readonly ContentRow[]>,
  ) {
    this.bucket = bucket
    this.#size = Math.min(size, readAheadMax)
    this.#read = read
  }

  /** The sequence number of the next row. */
  *head(): Steps<number | undefined> {
    // The first of a bucket is known before any of its rows was read.
    if (this.#state === 'unread' && this.bucket !== undefined) return this.bucket.head
    return (yield* this.#first())?.sequence
  }

  *take(): Steps<ContentRow | undefined> {
    const row = yield* this.#first()
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

  *#first(): Steps<ContentRow | undefined> {
    if (this.#next >= this.#rows.length && this.#state !== 'exhausted') {
      this.#rows = yield* this.#read(this.#size)
      this.#next = 0
      this.#state = this.#rows.length < this.#size ? 'exhausted' : 'reading'
      // A claim that must read on has met many messages that it may not take.
      this.#size = Math.min(this.#size * 2, readAheadMax)
    }
    return this.#rows[this.#next]
  }
}

/** Takes one message of each tenant and key in turn, beginning after the one that was served last. */
function* claimInTurn(
  tx: Transaction,
  queue: Queue,
  claim: GatedClaim,
): Steps<readonly Delivery[]> {
  // What has expired in a bucket costs no tenant its turn.
  yield* expireBlocked(tx, queue)
  yield* sortIntoBuckets(tx, queue, claim.gate)
  const { turns } = tx.memory
  const deliveries: Delivery[] = []
  let isWorthARound = true
  while (isWorthARound) {
    isWorthARound = false
    const round = new Round(tx, queue, turns.get(queue.id))
    for (let buckets = yield* round.next(); buckets.length > 0; buckets = yield* round.next()) {
      if (deliveries.length >= claim.max || claim.budget.setAside <= 0) return deliveries
      const first = yield* firstOpen(buckets, claim.gate)
      if (first === undefined) continue
      isWorthARound = true
      turns.set(queue.id, buckets.at(-1)?.name ?? first.name)
      for (const row of yield* inBucket(tx, queue, first.name, 1)) {
        const claimed = yield* leaseOrSetAside(tx, queue, row, claim)
        if (typeof claimed === 'object') deliveries.push(claimed)
      }
    }
  }
  return deliveries
}

/** The bucket with the oldest message, of those from which something may be taken. */
function* firstOpen(buckets: readonly Bucket[], gate: Gate): Steps<Bucket | undefined> {
  for (const { kind } of buckets) yield* gate.prepare(kind)
  return buckets
    .filter(({ kind }) => gate.verdict(kind) !== 'closed')
    .toSorted((left, right) => left.head - right.head)[0]
}

/** Puts what is ready into the buckets that take turns, oldest first; at most a slice of it. */
function* sortIntoBuckets(tx: Transaction, queue: Queue, gate: Gate): Steps<void> {
  for (const row of yield* oldestReady(tx, queue, sliceRows)) {
    if (yield* isSetAside(tx, queue, row)) continue
    yield* block(tx, queue, row, gate.bucketFor(kindOf(queue, row)))
  }
}

/** Buckets by turn, once round, beginning after the bucket of a name. */
class Round {
  readonly #tx: Transaction
  readonly #queue: Queue
  readonly #start: string
  /** The first bucket of the next turn; null before the first one was read. */
  #bucket: Bucket | undefined | null = null
  #hasWrapped = false

  constructor(tx: Transaction, queue: Queue, start: string = runningBucket) {
    this.#tx = tx
    this.#queue = queue
    this.#start = start
  }

  /** The buckets of the next turn; none when all had theirs. */
  *next(): Steps<readonly Bucket[]> {
    if (this.#bucket === null) this.#bucket = yield* this.#after(this.#start)
    if (this.#bucket === undefined) {
      if (this.#hasWrapped) return []
      this.#hasWrapped = true
      this.#bucket = yield* this.#after(runningBucket)
    }
    const first = this.#bucket
    if (first === undefined) return []
    const ofTurn: Bucket[] = []
    let bucket: Bucket | undefined = first
    while (bucket !== undefined && isSameTurn(bucket.kind, first.kind)) {
      ofTurn.push(bucket)
      bucket = yield* this.#after(bucket.name)
    }
    this.#bucket = bucket
    return this.#hasWrapped && isAfter(first.name, this.#start) ? [] : ofTurn
  }

  #after(name: string): Steps<Bucket | undefined> {
    return bucketAfter(this.#tx, this.#queue, name)
  }
}

/** In the order of the store, which compares bytes. */
function isAfter(left: string, right: string): boolean {
  return Buffer.compare(Buffer.from(left), Buffer.from(right)) > 0
}
