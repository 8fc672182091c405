/**
 * One transaction of the store, shared by all operations of a commit. The clock, the last sequence number
 * and the counters of queues are read once at the start and written once at the end.
 */

import type { SQLInputValue } from 'node:sqlite'
import {
  noCounts as noQueueCounts,
  type QueueCounter,
  queueCounterNames,
} from '../../../core/queue-counters.ts'
import { snakeCase } from '../../../core/snake-case.ts'
import type { Queue } from '../queues/queue-cache.ts'
import type { Session, StoreRow } from './session.ts'
import { change, type Query, query, type Statement } from './statements.ts'
import { isBusy } from './storage-fault.ts'

/** Levels and counters of a queue; a transaction gathers what it adds to them. */
export type Counts = Record<CountName, number>

export type CountName = 'ready' | 'leased' | 'delayed' | QueueCounter

const countNames: readonly CountName[] = ['ready', 'leased', 'delayed', ...queueCounterNames]

const noCounts: Counts = { ready: 0, leased: 0, delayed: 0, ...noQueueCounts }

const countColumns: readonly string[] = countNames.map(snakeCase)

const sql = {
  readCounts: query<Counts>(`
    SELECT ${countNames.map((name) => `${snakeCase(name)} AS ${name}`).join(', ')}
    FROM queue_count WHERE queue = ?`),
  addCounts: change(`
    UPDATE queue_count SET ${countColumns.map((name) => `${name} = ${name} + ?`).join(', ')}
    WHERE queue = ?`),
  writeStore: change(`
    UPDATE store SET
      last_sequence = ?, last_token = ?, last_generation = ?, clock_ms = ?, queues_version = ?,
      wall_ms = ?, uptime_ms = ?, boot = ?`),
}

const savepoint = 'millrace_work'

/** Begins a write transaction, or returns undefined while another process has the lock. */
export function beginTransaction(session: Session): StoreTransaction | undefined {
  try {
    session.begin()
  } catch (error) {
    if (isBusy(error)) return undefined
    throw error
  }
  return joined(session)
}

/**
 * Runs inside a transaction that the caller has begun on this connection, and will end. A failure leaves
 * no trace in it.
 */
export function withinTransaction<T>(session: Session, apply: (tx: StoreTransaction) => T): T {
  const { db } = session
  db.exec(`SAVEPOINT ${savepoint}`)
  try {
    const tx = joined(session)
    if (session.mistrustsQueues) session.queues.forget()
    const result = apply(tx)
    tx.finish()
    if (tx.hasChangedQueues) session.mistrustsQueues = true
    db.exec(`RELEASE ${savepoint}`)
    return result
  } catch (error) {
    if (db.isTransaction) db.exec(`ROLLBACK TO ${savepoint}; RELEASE ${savepoint}`)
    throw error
  }
}

function joined(session: Session): StoreTransaction {
  const store = session.readStore()
  return new StoreTransaction(session, store, session.clock.now(store))
}

/** The counts of a queue as they were committed last, or as the open transaction has written them. */
export function readCounts(session: Session, { id }: Queue): Counts {
  return session.one(sql.readCounts, id) ?? noCounts
}

/** A store at one moment, to be read; a transaction is one. */
export class StoreView {
  readonly session: Session
  readonly now: number

  constructor(session: Session, now: number) {
    this.session = session
    this.now = now
  }

  one<Row>(query: Query<Row>, ...values: readonly SQLInputValue[]): Row | undefined {
    return this.session.one(query, ...values)
  }

  all<Row>(query: Query<Row>, ...values: readonly SQLInputValue[]): readonly Row[] {
    return this.session.all(query, ...values)
  }

  /** Throws `queue_not_found`. */
  queue(name: string): Queue {
    return this.session.queues.require(name)
  }

  findQueue(name: string): Queue | undefined {
    return this.session.queues.find(name)
  }
}

export class StoreTransaction extends StoreView {
  #sequence: number
  #token: number
  #generation: number
  #queuesVersion: number
  readonly #versionBefore: number
  #writes = 0
  readonly #counts = new Map<number, Counts>()
  /** Runs of operations on one queue are the rule, and this saves them the look-up. */
  #latestQueue: Queue | undefined
  #latestCounts: Counts = { ...noCounts }
  readonly #countsBefore = new Map<number, Counts>()
  /** Queues, by name, that gained a ready message. */
  readonly gained: Set<string> = new Set()
  /** Queues, by name, in which something changed. */
  readonly touched: Set<string> = new Set()
  readonly #afterCommit: (() => void)[] = []

  constructor(session: Session, store: StoreRow, now: number) {
    super(session, now)
    this.#sequence = store.last_sequence
    this.#token = store.last_token
    this.#generation = store.last_generation
    this.#queuesVersion = store.queues_version
    this.#versionBefore = store.queues_version
  }

  /** Rises with every write, so that the writer can tell whether a failed operation has changed rows. */
  get writes(): number {
    return this.#writes
  }

  /** Settings of queues, or kill switches, are other than before. */
  get hasChangedQueues(): boolean {
    return this.#queuesVersion !== this.#versionBefore
  }

  get lastSequence(): number {
    return this.#sequence
  }

  run(change: Statement, ...values: readonly SQLInputValue[]): void {
    this.session.run(change, ...values)
  }

  /** Whether the statement changed a row. */
  changed(change: Statement, ...values: readonly SQLInputValue[]): boolean {
    return this.session.changed(change, ...values)
  }

  /** How many rows the statement changed. */
  changes(change: Statement, ...values: readonly SQLInputValue[]): number {
    return this.session.changes(change, ...values)
  }

  nextSequence(): number {
    this.#writes += 1
    return ++this.#sequence
  }

  /** Tokens rise across all queues, so that a later lease always has the higher one. */
  nextToken(): number {
    this.#writes += 1
    return ++this.#token
  }

  /**
   * Tokens for messages that are leased together: the returned number, plus a message's sequence number.
   * So one statement can give each message its own.
   */
  nextTokens(firstSequence: number, lastSequence: number): number {
    this.#writes += 1
    const offset = this.#token + 1 - firstSequence
    this.#token = offset + lastSequence
    return offset
  }

  nextGeneration(): number {
    this.#writes += 1
    return ++this.#generation
  }

  /** Counts the write of a row that no other method counts. */
  wroteRow(queue?: Queue): void {
    this.#writes += 1
    if (queue !== undefined) this.touched.add(queue.name)
  }

  queuesChanged(): void {
    this.#writes += 1
    this.#queuesVersion += 1
    this.session.queues.follow(this.#queuesVersion)
  }

  count(queue: Queue, name: CountName, change: number): void {
    this.#writes += 1
    if (queue !== this.#latestQueue) {
      this.#latestQueue = queue
      this.#latestCounts = this.#countsOf(queue)
    }
    this.#latestCounts[name] += change
  }

  #countsOf(queue: Queue): Counts {
    let counts = this.#counts.get(queue.id)
    if (counts === undefined) {
      counts = { ...noCounts }
      this.#counts.set(queue.id, counts)
      this.touched.add(queue.name)
    }
    return counts
  }

  /** Messages that this transaction has let expire so far. */
  get expired(): number {
    let expired = 0
    for (const counts of this.#counts.values()) expired += counts.expired
    return expired
  }

  /** Calls `run` right after the commit, before any promise resolves. */
  afterCommit(run: () => void): void {
    this.#afterCommit.push(run)
  }

  committed(): void {
    for (const run of this.#afterCommit) run()
  }

  gainedReady(queue: Queue): void {
    this.gained.add(queue.name)
  }

  /** A counter of a queue as it stands, with what this transaction has changed. */
  counted(queue: Queue, name: CountName): number {
    let before = this.#countsBefore.get(queue.id)
    if (before === undefined) {
      before = readCounts(this.session, queue)
      this.#countsBefore.set(queue.id, before)
    }
    return before[name] + (this.#counts.get(queue.id)?.[name] ?? 0)
  }

  commit(): void {
    this.finish()
    this.session.commit()
  }

  /** Writes what was gathered; called once, right before the commit. */
  finish(): void {
    if (this.#writes === 0) return
    this.writeCounts()
    const { wallMs, uptimeMs, boot } = this.session.clock
    this.session.run(
      sql.writeStore,
      this.#sequence,
      this.#token,
      this.#generation,
      this.now,
      this.#queuesVersion,
      wallMs,
      uptimeMs,
      boot,
    )
  }

  /** Writes the counters, for statements of this transaction that read them. */
  writeCounts(): void {
    for (const [id, counts] of this.#counts) {
      this.run(sql.addCounts, ...countNames.map((name) => counts[name]), id)
    }
    this.#counts.clear()
    this.#countsBefore.clear()
    this.#latestQueue = undefined
  }
}

/** Whether others may wait for what has changed: something ready, or room under a ceiling. */
export function concernsOthers(tx: StoreTransaction): boolean {
  if (tx.gained.size > 0 || tx.hasChangedQueues) return true
  for (const name of tx.touched) {
    if (tx.session.queues.find(name)?.countsRunning) return true
  }
  return false
}
