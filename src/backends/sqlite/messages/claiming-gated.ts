/**
 * Claims from standard queues in which not everything may be taken: some of it is held by a kill
 * switch, or a ceiling is reached for its type or tenant. What may not be taken goes into a lane, at
 * most a slice of it with each claim; lanes that are open are served first come, first served with
 * what is ready, or tenant by tenant where tenants have a ceiling.
 */

import type { Delivery } from '../../backend.ts'
import type { StoreTransaction } from '../driver/transaction.ts'
import type { Queue } from '../queues/queue-cache.ts'
import {
  block,
  hasLanes,
  inBucket,
  inHand,
  kindOf,
  type Lane,
  laneAfter,
  laneName,
  lanesOf,
} from './buckets.ts'
import { expireBlocked, upkeepSlice } from './elapsed-time.ts'
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
  const together = hasLanes(tx.session, queue) ? undefined : claimTogether(tx, queue, claim)
  if (together !== undefined) return together
  return servesInTurn(queue) ? claimInTurn(tx, queue, claim) : claimByAge(tx, queue, claim)
}

/** Tenants that have a ceiling take turns, so that the one with most messages is not the only one. */
function servesInTurn({ settings }: Queue): boolean {
  return settings.ceilings.runningPerTenant !== null
}

/** The quick way, when the first messages are new and may all be taken; undefined when not. */
function claimTogether(
  tx: StoreTransaction,
  queue: Queue,
  claim: GatedClaim,
): readonly Delivery[] | undefined {
  const rows = oldestReady(tx.session, queue, claim.max)
  // Messages of other tenants may lie behind these.
  if (servesInTurn(queue) && rows.length === claim.max) return undefined
  if (!rows.every((row) => isNewAndLasting(queue, row, claim))) return undefined
  if (rows.some((row) => claim.noisy.has(row.group_name))) return undefined
  if (!claim.gate.takeAll(rows.map(kindOf))) return undefined
  return leaseTogether(tx, queue, rows, claim)
}

/**
 * Takes the oldest message that may be taken, wherever it waits, again and again; those of noisy
 * tenants go into lanes meanwhile, and have what is then left to give.
 */
function claimByAge(tx: StoreTransaction, queue: Queue, claim: GatedClaim): readonly Delivery[] {
  const ready = new Source(undefined, claim.max, (count) => oldestReady(tx.session, queue, count))
  const isQuiet = ({ kind }: Lane): boolean => !claim.noisy.has(kind.tenant)
  const quiet = sourcesOf(tx, queue, claim, isQuiet)
  const deliveries = takeByAge(tx, queue, claim, [ready, ...quiet])
  if (deliveries.length === claim.max) return deliveries
  const rest = { ...claim, max: claim.max - deliveries.length, budget: { setAside: upkeepSlice } }
  const noisy = sourcesOf(tx, queue, rest, (lane) => !isQuiet(lane))
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
    if (source?.lane === undefined && isOnlyNoisy(row, claim)) {
      if (isSetAside(tx, queue, row)) readAgain(sources)
      else block(tx, queue, row, laneName(kindOf(row)))
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
function isOnlyNoisy(row: ContentRow, { noisy, gate }: GatedClaim): boolean {
  return noisy.has(row.group_name) && gate.verdict(kindOf(row)) === 'open'
}

/** The lanes from which something may be taken, of those that are wanted. */
function sourcesOf(
  tx: StoreTransaction,
  queue: Queue,
  { gate, max }: GatedClaim,
  isWanted: (lane: Lane) => boolean,
): readonly Source[] {
  return [...lanesOf(tx.session, queue)]
    .filter((lane) => isWanted(lane) && gate.verdict(lane.kind) !== 'closed')
    .map((lane) => new Source(lane, max, (count) => inBucket(tx.session, queue, lane.name, count)))
}

/** The source with the oldest message, of those from which something may be taken at this point. */
function oldest(sources: readonly Source[], gate: Gate): Source | undefined {
  let best: Source | undefined
  for (const source of sources) {
    if (source.head === undefined || (best?.head ?? source.head) < source.head) continue
    if (source.lane !== undefined && gate.verdict(source.lane.kind) === 'closed') continue
    best = source
  }
  return best
}

/** Most rows read ahead from one source; what is read ahead in vain costs time. */
const readAheadMax = 200

/** Rows in order of sending, each of which leaves the place it was read from once it is taken. */
class Source {
  /** Undefined for the messages that are simply ready. */
  readonly lane: Lane | undefined
  readonly #read: (count: number) => readonly ContentRow[]
  #rows: readonly ContentRow[] = []
  #next = 0
  /** How many rows the next read asks for. */
  #size: number
  #state: 'unread' | 'reading' | 'exhausted' = 'unread'

  constructor(
    lane: Lane | undefined,
    size: number,
    read: (count: number) => readonly ContentRow[],
  ) {
    this.lane = lane
    this.#size = Math.min(size, readAheadMax)
    this.#read = read
  }

  /** The sequence number of the next row. */
  get head(): number | undefined {
    // The first of a lane is known before any of its rows was read.
    if (this.#state === 'unread' && this.lane !== undefined) return this.lane.head
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
      // Whoever has to read on has met much that may not be taken.
      this.#size = Math.min(this.#size * 2, readAheadMax)
    }
    return this.#rows[this.#next]
  }
}

/** Takes one message of each tenant in turn, beginning after the one that was served last. */
function claimInTurn(tx: StoreTransaction, queue: Queue, claim: GatedClaim): readonly Delivery[] {
  // Nobody's turn is spent on what has expired in a lane.
  expireBlocked(tx, queue)
  sortIntoLanes(tx, queue)
  const { turns } = tx.session
  const deliveries: Delivery[] = []
  let isWorthARound = true
  while (isWorthARound) {
    isWorthARound = false
    for (const lanes of tenantsInTurn(tx, queue, turns.get(queue.id))) {
      if (deliveries.length >= claim.max || claim.budget.setAside <= 0) return deliveries
      const [first] = lanes
        .filter(({ kind }) => claim.gate.verdict(kind) !== 'closed')
        .sort((left, right) => left.head - right.head)
      if (first === undefined) continue
      isWorthARound = true
      turns.set(queue.id, lanes.at(-1)?.name ?? first.name)
      for (const row of inBucket(tx.session, queue, first.name, 1)) {
        const claimed = leaseOrSetAside(tx, queue, row, claim)
        if (typeof claimed === 'object') deliveries.push(claimed)
      }
    }
  }
  return deliveries
}

/** Puts what is ready into the lanes of its tenants, oldest first; at most a slice of it. */
function sortIntoLanes(tx: StoreTransaction, queue: Queue): void {
  const rows = oldestReady(tx.session, queue, upkeepSlice)
  for (const row of rows) {
    if (!isSetAside(tx, queue, row)) block(tx, queue, row, laneName(kindOf(row)))
  }
}

/** The lanes of one tenant after the other, once round, beginning after the lane of this name. */
function* tenantsInTurn(
  tx: StoreTransaction,
  queue: Queue,
  start: string = inHand,
): Generator<readonly Lane[]> {
  let lane = laneAfter(tx.session, queue, start)
  let hasWrapped = false
  while (lane !== undefined || !hasWrapped) {
    if (lane === undefined) {
      hasWrapped = true
      lane = laneAfter(tx.session, queue)
      if (lane === undefined) return
    }
    const first = lane
    const ofTenant: Lane[] = []
    while (lane !== undefined && lane.kind.tenant === first.kind.tenant) {
      ofTenant.push(lane)
      lane = laneAfter(tx.session, queue, lane.name)
    }
    if (hasWrapped && isAfter(first.name, start)) return
    yield ofTenant
  }
}

/** In the order of the store, which compares bytes. */
function isAfter(left: string, right: string): boolean {
  return Buffer.compare(Buffer.from(left), Buffer.from(right)) > 0
}
