/**
 * What rules run on: a view on one connection, and a transaction. A step is sent when its rule waits for it.
 * A change whose result no rule needs is sent and not waited for; the commit waits for all of them. Plain
 * messages and jobs are gathered, and sent with what follows them. If nothing else does, one statement
 * stores them and commits.
 */

import type { AttemptLostListener } from '../../../core/lost-attempt.ts'
import { MillraceError } from '../../../core/millrace-error.ts'
import type { Queue } from '../../../engine/queues/queue.ts'
import {
  change,
  type Query,
  query,
  type Statement,
  type Value,
} from '../../../engine/statements.ts'
import { runAtOnce, type Steps } from '../../../engine/steps.ts'
import {
  type CountName,
  type Counts,
  countNames,
  noCounts,
  type Transaction,
} from '../../../engine/transaction.ts'
import type { ClaimHorizon } from './claim-horizon.ts'
import { type CommitMark, commitMarks } from './commit-mark.ts'
import { addCounts, notify, storingAlone, storingAndNotifying } from './commit-statements.ts'
import type { TransactionConnection } from './connections.ts'
import { PostgresMessages } from './native-messages.ts'
import type { Notification, QueueChanges } from './notifications.ts'
import { type Gathered, insertSql, insertValues, joined } from './plain-inserts.ts'
import { QueueCache } from './queue-cache.ts'
import { blockSize } from './sequence-block.ts'
import type { Moment } from './store-head.ts'
import { PostgresView, type StoreFacts } from './view.ts'

const sql = {
  insert: { messages: change(insertSql.messages), jobs: change(insertSql.jobs) },
  nextToken: query<{ next: number }>("SELECT nextval('@schema.lease_token') AS next"),
  nextGeneration: query<{ next: number }>("SELECT nextval('@schema.queue_generation') AS next"),
  nextBlock: query<{ next: number }>("SELECT nextval('@schema.message_sequence') AS next"),
  lockQueue: query<unknown>('SELECT pg_advisory_xact_lock(CAST(? AS INTEGER), CAST(? AS INTEGER))'),
  writeClock: change(`
    UPDATE store SET clock_ms = ?, wall_ms = ?, uptime_ms = ?, boot = ? WHERE clock_ms < ?`),
  lockName: query<unknown>(
    'SELECT 1 FROM (SELECT pg_advisory_xact_lock(hashtextextended(CAST(? AS TEXT), 0))) AS locked',
  ),
  raiseVersion: change('UPDATE store SET queues_version = queues_version + 1'),
  version: query<{ version: number }>('SELECT queues_version AS version FROM store'),
}

/** Names the locks of queues among all advisory locks of the database. */
const queueLocks = 0x4d694c72 - 1

/** Which commit of this process a transaction is, and which row of counters it adds to. */
export interface CommitPlace extends CommitMark {
  readonly slot: number
}

export class PostgresTransaction extends PostgresView implements Transaction {
  readonly messages: PostgresMessages = new PostgresMessages(this)
  /** Rows that this transaction has left behind. */
  deadRows = 0
  /** Queues, by name, that gained a ready message. */
  readonly gained: Set<string> = new Set()
  /** Queues, by name, in which something changed. */
  readonly touched: Set<string> = new Set()
  readonly place: CommitPlace
  readonly #counts = new Map<Queue['id'], Counts>()
  readonly #gathered: Gathered[] = []
  readonly #sent: Promise<unknown>[] = []
  readonly #afterCommit: (() => void)[] = []
  readonly #locked = new Set<number>()
  readonly #named = new Set<string>()
  readonly #clock: Moment['clock']
  /** Numbers of this transaction alone, which were taken under the lock of a queue. */
  #ownBlock: { next: number; readonly end: number } | undefined
  #version: number
  #isBegun = false
  #hasChangedQueues = false
  #failure: unknown
  #expired = 0
  #writes = 0

  constructor(
    connection: TransactionConnection,
    facts: StoreFacts,
    moment: Moment,
    place: CommitPlace,
  ) {
    super(connection, facts, moment)
    this.#clock = moment.clock
    this.#version = moment.cache.version
    this.place = place
  }

  get horizon(): ClaimHorizon {
    return this.facts.horizon
  }

  /** Whether its commit writes the time down. */
  get wroteClock(): boolean {
    return this.#clock !== undefined && this.#writes > 0
  }

  get onAttemptLost(): AttemptLostListener | undefined {
    return this.facts.onAttemptLost
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

  override *all<Row>(query: Query<Row>, ...values: readonly Value[]): Steps<readonly Row[]> {
    this.#begin()
    return (yield this.connection.prepared<Row>(query, values)) as readonly Row[]
  }

  *lock(name: string): Steps<void> {
    if (this.#named.has(name)) return
    this.#named.add(name)
    yield* this.one(sql.lockName, `${this.facts.schema}:${name}`)
  }

  *lockRows(query: Query<unknown>, ...values: readonly Value[]): Steps<void> {
    yield* this.all(query, ...values)
  }

  // biome-ignore lint/correctness/useYield: it sends, and does not wait
  *run(change: Statement, ...values: readonly Value[]): Steps<void> {
    this.#begin()
    this.#send(this.connection.changes(change, values))
  }

  *changes(change: Statement, ...values: readonly Value[]): Steps<number> {
    this.#begin()
    return (yield this.connection.changes(change, values)) as number
  }

  *changed(change: Statement, ...values: readonly Value[]): Steps<boolean> {
    return (yield* this.changes(change, ...values)) > 0
  }

  override *findQueue(name: string): Steps<Queue | undefined> {
    const queue = yield* super.findQueue(name)
    if (queue === undefined || this.#locked.has(queue.id)) return queue
    if (!this.locks(queue)) return queue
    this.#locked.add(queue.id)
    yield* this.one(sql.lockQueue, queueLocks, queue.id)
    this.renumber()
    return queue
  }

  /** Whether others are kept out of a queue, whose order or limits depend on it. */
  protected locks({ settings, isLimited }: Queue): boolean {
    return settings.type === 'fifo' || isLimited
  }

  /** Other processes have higher numbers than those that this one has taken ahead. */
  renumber(): void {
    this.#ownBlock = { next: 0, end: 0 }
  }

  *nextSequence(): Steps<number> {
    return yield* this.takeSequences(1)
  }

  /** The first of so many numbers in a row, at most a block. */
  *takeSequences(count: number): Steps<number> {
    this.#writes += 1
    const { block } = this.facts
    const own = this.#ownBlock
    if (own === undefined) {
      const first = block.take(count)
      if (first !== undefined) return first
    } else if (own.end - own.next >= count) {
      own.next += count
      return own.next - count
    }
    const next = (yield* this.one(sql.nextBlock))?.next
    if (next === undefined) throw new MillraceError('store_failed')
    // The rest of an older block would come before what this transaction stores.
    block.drop()
    if (own !== undefined) this.#ownBlock = { next: next + count, end: next + blockSize }
    else block.renew(next, count)
    return next
  }

  /** Whatever this process stores later has a higher number. */
  override *lastSequence(): Steps<number> {
    this.facts.block.drop()
    return yield* super.lastSequence()
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
      if (values.some((value) => value !== 0)) yield* this.addCounts(id, values)
    }
    this.#counts.clear()
  }

  protected *addCounts(id: Queue['id'], values: readonly number[]): Steps<void> {
    yield* this.run(addCounts, id, this.place.slot, ...values)
  }

  gainedReady(queue: Queue): void {
    this.gained.add(queue.name)
  }

  /** Plain rows, which are stored with what follows. */
  gather(rows: Gathered): void {
    this.#writes += 1
    if (!this.#gathered.some((others) => joined(others, rows))) this.#gathered.push(rows)
  }

  *queuesChanged(): Steps<void> {
    this.#writes += 1
    this.#version += 1
    this.#hasChangedQueues = true
    yield* this.run(sql.raiseVersion)
    yield* this.run(commitMarks.raiseVersions)
    // What this transaction has changed is not for the others before it commits.
    this.cache = (yield QueueCache.read(this.connection, this.cache.version)) as QueueCache
  }

  afterCommit(run: () => void): void {
    this.#afterCommit.push(run)
  }

  *runWithin(within: (client: object) => unknown): Steps<void> {
    // Whatever it writes must be undone when it throws.
    this.#writes += 1
    this.#begin()
    // What has failed before is not its failure.
    yield Promise.all(this.#sent)
    yield this.connection.lend(within)
  }

  #begin(): void {
    if (!this.#isBegun) {
      this.#isBegun = true
      this.#send(this.connection.begin())
    }
    for (const rows of this.#gathered.splice(0)) {
      this.#send(this.connection.changes(sql.insert[rows.kind], insertValues(rows, this.now)))
    }
  }

  #send(sent: Promise<unknown>): void {
    sent.catch((error: unknown) => {
      this.#failure ??= error
    })
    this.#sent.push(sent)
  }

  /** Sends what was gathered and counted. */
  protected sendGathered(): void {
    this.#begin()
    runAtOnce(this.writeCounts())
  }

  protected async allSent(): Promise<void> {
    await Promise.all(this.#sent)
  }

  /** Of the queues, as this transaction knows them. */
  protected get version(): number {
    return this.#version
  }

  /**
   * Sends what was gathered, and the commit. Resolves when it is committed, and returns false if it must run
   * again because the queues have changed. Rejects with the first failure; what became of a commit whose
   * connection was lost is not known.
   *
   * @param notification is delivered by the commit
   */
  async commit(notification?: Notification): Promise<boolean> {
    const { series, number } = this.place
    const mark = [number, this.#version, number, this.now, series] as const
    if (this.#writes === 0) return this.#endWithoutWrites()
    const alone = this.#storedAlone(notification !== undefined)
    if (alone !== undefined) {
      await this.connection.changes(alone.statement, [
        ...alone.values,
        ...mark,
        ...(notification ?? []),
      ])
      return true
    }
    this.sendGathered()
    if (this.#clock !== undefined) {
      runAtOnce(this.run(sql.writeClock, this.now, this.wallMs, ...this.#clock, this.now))
    }
    if (notification !== undefined) runAtOnce(this.run(notify, ...notification))
    runAtOnce(this.run(commitMarks.write, ...mark))
    const committed = this.connection.commit()
    await Promise.all([...this.#sent, committed])
    // A transaction that has failed is rolled back by its COMMIT.
    if ((await committed) !== 'COMMIT') throw this.#failure ?? new MillraceError('store_failed')
    return true
  }

  /** A rule that changes nothing has seen the queues as they are, or must run again. */
  async #endWithoutWrites(): Promise<boolean> {
    const version = this.connection.prepared<{ version: number }>(sql.version, [])
    const ended = this.#isBegun ? this.connection.commit() : undefined
    const [[found]] = await Promise.all([version, ended, ...this.#sent])
    return found?.version === this.#version
  }

  /** What is sent, if all of it is one insert. */
  #storedAlone(notifies: boolean): { statement: Statement; values: readonly Value[] } | undefined {
    const [rows, ...others] = this.#gathered
    if (rows === undefined || others.length > 0) return undefined
    if (this.#isBegun || this.#clock !== undefined || this.#counts.size !== 1) return undefined
    const counts = this.#counts.get(rows.queue.id)
    if (counts === undefined) return undefined
    const counted = countNames.map((name) => counts[name])
    const { slot } = this.place
    const values = [...insertValues(rows, this.now), rows.queue.id, slot, ...counted]
    return { statement: (notifies ? storingAndNotifying : storingAlone)[rows.kind], values }
  }

  async rollback(): Promise<void> {
    if (!this.#isBegun) return
    await this.connection.rollback()
  }

  /** The first change that failed without its rule waiting for it; all that follow it fail too. */
  get failure(): unknown {
    return this.#failure
  }

  get queueChanges(): QueueChanges {
    return { queues: new Set([...this.gained, ...this.touched]), gained: this.gained }
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
