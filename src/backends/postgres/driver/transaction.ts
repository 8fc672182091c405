/**
 * What rules run on: a view on one connection, and a transaction. A step is sent when its rule waits for it.
 * A change whose result no rule needs is sent and not waited for; the commit waits for all of them.
 */

import { MillraceError } from '../../../core/millrace-error.ts'
import type { Ids } from '../../../core/ports.ts'
import type { Receipts } from '../../../core/receipt.ts'
import { snakeCase } from '../../../core/snake-case.ts'
import type { MessageIds } from '../../../engine/messages/message-ids.ts'
import type { NativeMessages } from '../../../engine/messages/native-messages.ts'
import { type Queue, queueNotFound } from '../../../engine/queues/queue.ts'
import {
  change,
  type Query,
  query,
  type Statement,
  type Value,
} from '../../../engine/statements.ts'
import type { Steps } from '../../../engine/steps.ts'
import type { Switches } from '../../../engine/switches/switches-on.ts'
import {
  type CountName,
  type Counts,
  countNames,
  noCounts,
  type ProcessMemory,
  type Transaction,
  type View,
} from '../../../engine/transaction.ts'
import type { Connection } from './connections.ts'
import { PostgresMessages } from './native-messages.ts'
import { QueueCache } from './queue-cache.ts'

const columns = countNames.map(snakeCase)

const sql = {
  counts: query<Counts>(`
    SELECT ${countNames.map((name) => `${snakeCase(name)} AS "${name}"`).join(', ')}
    FROM queue_total WHERE queue = ?`),
  addCounts: change(`
    INSERT INTO queue_count (queue, slot, ${columns.join(', ')})
    VALUES (?, ?, ${columns.map(() => '?').join(', ')})
    ON CONFLICT (queue, slot) DO UPDATE SET
      ${columns.map((name) => `${name} = queue_count.${name} + excluded.${name}`).join(', ')}`),
  lastSequence: query<{ last: number }>(
    'SELECT CASE WHEN is_called THEN last_value ELSE 0 END AS last FROM message_sequence',
  ),
  nextToken: query<{ next: number }>("SELECT nextval('@schema.lease_token') AS next"),
  nextGeneration: query<{ next: number }>("SELECT nextval('@schema.queue_generation') AS next"),
  nextSequences: query<{ next: number }>(`
    SELECT nextval('@schema.message_sequence') AS next FROM generate_series(1, CAST(? AS INTEGER))`),
  lockQueue: query<unknown>('SELECT pg_advisory_xact_lock(CAST(? AS INTEGER), CAST(? AS INTEGER))'),
  writeClock: change(`
    UPDATE store SET clock_ms = ?, wall_ms = ?, uptime_ms = ?, boot = ? WHERE clock_ms < ?`),
  lockName: query<unknown>(
    'SELECT 1 FROM (SELECT pg_advisory_xact_lock(hashtextextended(CAST(? AS TEXT), 0))) AS locked',
  ),
  raiseVersion: change('UPDATE store SET queues_version = queues_version + 1'),
}

/** Names the locks of queues among all advisory locks of the database. */
const queueLocks = 0x4d694c72 - 1

/** Sequence numbers that one call takes at most, ahead of what a rule needs. */
const sequencesMax = 256

/** What is the same for all transactions of a store. */
export interface StoreFacts {
  readonly ids: Ids
  readonly messageIds: MessageIds
  readonly receipts: Receipts
  readonly memory: ProcessMemory
  readonly isSealed: boolean
  /** Tells the locks of this store from those of others in the same database. */
  readonly schema: string
  /** The row of counters that this process adds to. */
  readonly slot: number
  open(text: string): string
}

export interface Moment {
  readonly now: number
  readonly wallMs: number
  /** Of the transaction, on the server. */
  readonly id?: string
  /** What the commit writes down of the clock, if it is time for that. */
  readonly clock?: readonly [uptimeMs: number, boot: string | null] | undefined
}

export class PostgresView implements View {
  readonly now: number
  readonly wallMs: number
  protected readonly facts: StoreFacts
  protected readonly connection: Connection
  protected cache: QueueCache

  constructor(connection: Connection, facts: StoreFacts, cache: QueueCache, moment: Moment) {
    this.connection = connection
    this.facts = facts
    this.cache = cache
    this.now = moment.now
    this.wallMs = moment.wallMs
  }

  get ids(): Ids {
    return this.facts.ids
  }

  get messageIds(): MessageIds {
    return this.facts.messageIds
  }

  get receipts(): Receipts {
    return this.facts.receipts
  }

  get switches(): Switches {
    return this.cache.switches
  }

  get memory(): ProcessMemory {
    return this.facts.memory
  }

  get isSealed(): boolean {
    return this.facts.isSealed
  }

  open(text: string): string {
    return this.facts.open(text)
  }

  *one<Row>(query: Query<Row>, ...values: readonly Value[]): Steps<Row | undefined> {
    const rows = yield* this.all(query, ...values)
    return rows[0]
  }

  *all<Row>(query: Query<Row>, ...values: readonly Value[]): Steps<readonly Row[]> {
    return (yield this.connection.rows<Row>(query, values)) as readonly Row[]
  }

  *queue(name: string): Steps<Queue> {
    const queue = yield* this.findQueue(name)
    if (queue === undefined) throw queueNotFound(name)
    return queue
  }

  *findQueue(name: string): Steps<Queue | undefined> {
    const known = this.cache.known(name)
    if (known !== undefined) return known
    return (yield this.cache.find(this.connection, name)) as Queue | undefined
  }

  *counts(queue: Queue): Steps<Counts> {
    return (yield* this.one(sql.counts, queue.id)) ?? noCounts
  }

  *lastSequence(): Steps<number> {
    return (yield* this.one(sql.lastSequence))?.last ?? 0
  }
}

export class PostgresTransaction extends PostgresView implements Transaction {
  readonly messages: NativeMessages = new PostgresMessages(this)
  /** Queues, by name, that gained a ready message. */
  readonly gained: Set<string> = new Set()
  /** Queues, by name, in which something changed. */
  readonly touched: Set<string> = new Set()
  readonly #counts = new Map<Queue['id'], Counts>()
  readonly #sent: Promise<unknown>[] = []
  readonly #afterCommit: (() => void)[] = []
  readonly #locked = new Set<number>()
  readonly #named = new Set<string>()
  /** The server's id of this transaction. */
  readonly id: string
  readonly #clock: Moment['clock']
  #sequences: number[] = []
  #sequencesNext = 1
  #hasChangedQueues = false
  #failure: unknown
  #expired = 0
  #writes = 0

  constructor(connection: Connection, facts: StoreFacts, cache: QueueCache, moment: Moment) {
    super(connection, facts, cache, moment)
    this.#clock = moment.clock
    this.id = moment.id ?? ''
  }

  get hasChangedQueues(): boolean {
    return this.#hasChangedQueues
  }

  /** Rises with every write, to tell whether a failed operation has changed something. */
  get writes(): number {
    return this.#writes
  }

  get expired(): number {
    return this.#expired
  }

  *lock(name: string): Steps<void> {
    if (this.#named.has(name)) return
    this.#named.add(name)
    yield* this.one(sql.lockName, `${this.facts.schema}:${name}`)
  }

  *lockRows(query: Query<unknown>, ...values: readonly Value[]): Steps<void> {
    yield* this.all(query, ...values)
  }

  *run(change: Statement, ...values: readonly Value[]): Steps<void> {
    const sent = this.connection.changes(change, values)
    sent.catch((error: unknown) => {
      this.#failure ??= error
    })
    this.#sent.push(sent)
  }

  *changes(change: Statement, ...values: readonly Value[]): Steps<number> {
    return (yield this.connection.changes(change, values)) as number
  }

  *changed(change: Statement, ...values: readonly Value[]): Steps<boolean> {
    return (yield* this.changes(change, ...values)) > 0
  }

  override *findQueue(name: string): Steps<Queue | undefined> {
    const queue = yield* super.findQueue(name)
    if (queue === undefined || this.#locked.has(queue.id)) return queue
    if (queue.settings.type !== 'fifo' && !queue.isLimited) return queue
    this.#locked.add(queue.id)
    yield* this.one(sql.lockQueue, queueLocks, queue.id)
    // Numbers that were taken before the lock could break the order of the queue.
    this.#sequences = []
    return queue
  }

  *nextSequence(): Steps<number> {
    this.#writes += 1
    const next = this.#sequences.shift()
    if (next !== undefined) return next
    const rows = yield* this.all(sql.nextSequences, this.#sequencesNext)
    this.#sequencesNext = Math.min(sequencesMax, this.#sequencesNext * 2)
    const [first, ...rest] = rows.map((row) => row.next)
    if (first === undefined) throw new MillraceError('store_failed')
    this.#sequences = rest
    return first
  }

  *nextToken(): Steps<number> {
    this.#writes += 1
    return (yield* this.one(sql.nextToken))?.next ?? 0
  }

  *nextGeneration(): Steps<number> {
    this.#writes += 1
    return (yield* this.one(sql.nextGeneration))?.next ?? 0
  }

  wroteRow(queue?: Queue): void {
    this.#writes += 1
    if (queue !== undefined) this.touched.add(queue.name)
  }

  count(queue: Queue, name: CountName, change: number): void {
    this.#writes += 1
    let counts = this.#counts.get(queue.id)
    if (counts === undefined) {
      counts = { ...noCounts }
      this.#counts.set(queue.id, counts)
      this.touched.add(queue.name)
    }
    counts[name] += change
    if (name === 'expired') this.#expired += change
  }

  *counted(queue: Queue, name: CountName): Steps<number> {
    const before = yield* this.counts(queue)
    return before[name] + (this.#counts.get(queue.id)?.[name] ?? 0)
  }

  *writeCounts(): Steps<void> {
    // In one order, so that no two transactions wait for each other.
    for (const [id, counts] of [...this.#counts].sort(([left], [right]) => left - right)) {
      const values = countNames.map((name) => counts[name])
      if (values.every((value) => value === 0)) continue
      yield* this.run(sql.addCounts, id, this.facts.slot, ...values)
    }
    this.#counts.clear()
  }

  gainedReady(queue: Queue): void {
    this.gained.add(queue.name)
  }

  *queuesChanged(): Steps<void> {
    this.#writes += 1
    this.#hasChangedQueues = true
    yield* this.run(sql.raiseVersion)
    // What this transaction has changed is not for the others before it commits.
    this.cache = (yield QueueCache.read(this.connection, this.cache.version)) as QueueCache
  }

  afterCommit(run: () => void): void {
    this.#afterCommit.push(run)
  }

  // biome-ignore lint/correctness/useYield: it refuses before the first step
  *runWithin(): Steps<void> {
    throw new MillraceError('unsupported')
  }

  /** Writes what was gathered, and waits for all that was sent; rejects with the first failure. */
  *finish(): Steps<void> {
    yield* this.writeCounts()
    if (this.#clock !== undefined && this.#writes > 0) {
      yield* this.run(sql.writeClock, this.now, this.wallMs, ...this.#clock, this.now)
    }
    yield Promise.all(this.#sent)
  }

  /** The first change that failed without its rule waiting for it; all that follow it fail too. */
  get failure(): unknown {
    return this.#failure
  }

  /** Whether others may wait for what has changed: something ready, room under a ceiling, a setting. */
  get concernsOthers(): boolean {
    if (this.gained.size > 0 || this.#hasChangedQueues) return true
    return [...this.touched].some((name) => this.cache.known(name)?.countsRunning)
  }

  committed(): void {
    for (const run of this.#afterCommit) run()
  }
}
