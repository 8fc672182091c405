/**
 * One transaction of the store, shared by all operations of a commit. The clock, the last sequence number
 * and the counters of queues are read once at the start and written once at the end.
 */

import type { AttemptLostListener } from '../../../core/lost-attempt.ts'
import type { Ids } from '../../../core/ports.ts'
import type { Receipts } from '../../../core/receipt.ts'
import { snakeCase } from '../../../core/snake-case.ts'
import type { MessageIds } from '../../../engine/messages/message-ids.ts'
import type { NativeMessages } from '../../../engine/messages/native-messages.ts'
import type { Queue } from '../../../engine/queues/queue.ts'
import {
  change,
  type Query,
  query,
  type Statement,
  type Value,
} from '../../../engine/statements.ts'
import { Answer, type Step } from '../../../engine/steps.ts'
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
import { answeringLate } from './late-answers.ts'
import { runOnLentConnection } from './lent-connection.ts'
import { SqliteMessages } from './native-messages.ts'
import type { Session, StoreRow } from './session.ts'
import { isBusy } from './storage-fault.ts'

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
  const tx = new StoreTransaction(session, store, session.clock.now(store))
  return session.answersLate ? answeringLate(tx) : tx
}

/** The counts of a queue as they were committed last, or as the open transaction has written them. */
export function readCounts(session: Session, { id }: Queue): Counts {
  return session.one(sql.readCounts, id) ?? noCounts
}

/** The store as a rule reads it without a transaction. */
export function viewOf(session: Session): StoreView {
  const view = new StoreView(session, session.refresh())
  return session.answersLate ? answeringLate(view) : view
}

/** A store at one moment, to be read; a transaction is one. */
export class StoreView implements View {
  readonly session: Session
  readonly now: number

  constructor(session: Session, now: number) {
    this.session = session
    this.now = now
  }

  get wallMs(): number {
    return this.session.clock.wallMs
  }

  get ids(): Ids {
    return this.session.ids
  }

  get messageIds(): MessageIds {
    return this.session.messageIds
  }

  get receipts(): Receipts {
    return this.session.receipts
  }

  get switches(): Switches {
    return this.session.queues.switches
  }

  get memory(): ProcessMemory {
    return this.session.memory
  }

  get isSealed(): boolean {
    return this.session.isSealed
  }

  open(text: string): string {
    return this.session.open(text)
  }

  one<Row>(query: Query<Row>, ...values: readonly Value[]): Step<Row | undefined> {
    return new Answer(this.session.one(query, ...values))
  }

  all<Row>(query: Query<Row>, ...values: readonly Value[]): Step<readonly Row[]> {
    return new Answer(this.session.all(query, ...values))
  }

  queue(name: string): Step<Queue> {
    return new Answer(this.session.queues.require(name))
  }

  findQueue(name: string): Step<Queue | undefined> {
    return new Answer(this.session.queues.find(name))
  }

  counts(queue: Queue): Step<Counts> {
    return new Answer(readCounts(this.session, queue))
  }

  lastSequence(): Step<number> {
    return new Answer(this.session.readStore().last_sequence)
  }
}

export class StoreTransaction extends StoreView implements Transaction {
  readonly messages: NativeMessages = new SqliteMessages(this)
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

  get onAttemptLost(): AttemptLostListener | undefined {
    return this.session.onAttemptLost
  }

  get hasChangedQueues(): boolean {
    return this.#queuesVersion !== this.#versionBefore
  }

  override lastSequence(): Step<number> {
    return new Answer(this.#sequence)
  }

  lock(): Step<void> {
    return done
  }

  lockRows(): Step<void> {
    return done
  }

  /** All numbers are in order. */
  renumber(): void {}

  run(change: Statement, ...values: readonly Value[]): Step<void> {
    this.session.run(change, ...values)
    return done
  }

  changed(change: Statement, ...values: readonly Value[]): Step<boolean> {
    return new Answer(this.session.changes(change, ...values) > 0)
  }

  changes(change: Statement, ...values: readonly Value[]): Step<number> {
    return new Answer(this.session.changes(change, ...values))
  }

  nextSequence(): Step<number> {
    return new Answer(this.takeSequence())
  }

  takeSequence(): number {
    this.#writes += 1
    return ++this.#sequence
  }

  nextToken(): Step<number> {
    this.#writes += 1
    return new Answer(++this.#token)
  }

  /**
   * Tokens for messages that are leased together: the returned number, plus a message's sequence number.
   * So one statement can give each message its own.
   */
  takeTokens(firstSequence: number, lastSequence: number): number {
    this.#writes += 1
    const offset = this.#token + 1 - firstSequence
    this.#token = offset + lastSequence
    return offset
  }

  nextGeneration(): Step<number> {
    this.#writes += 1
    return new Answer(++this.#generation)
  }

  runWithin(within: (connection: object) => void): Step<void> {
    runOnLentConnection(this, within)
    return done
  }

  wroteRow(queue?: Queue): void {
    this.#writes += 1
    if (queue !== undefined) this.touched.add(queue.name)
  }

  queuesChanged(): Step<void> {
    this.#writes += 1
    this.#queuesVersion += 1
    this.session.queues.follow(this.#queuesVersion)
    return done
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

  get expired(): number {
    let expired = 0
    for (const counts of this.#counts.values()) expired += counts.expired
    return expired
  }

  afterCommit(run: () => void): void {
    this.#afterCommit.push(run)
  }

  committed(): void {
    for (const run of this.#afterCommit) run()
  }

  gainedReady(queue: Queue): void {
    this.gained.add(queue.name)
  }

  counted(queue: Queue, name: CountName): Step<number> {
    const before = this.#countsBeforeOf(queue)
    return new Answer(before[name] + (this.#counts.get(queue.id)?.[name] ?? 0))
  }

  countsOf(queue: Queue): Pick<Counts, 'ready' | 'leased'> {
    const before = this.#countsBeforeOf(queue)
    const { ready, leased } = this.#counts.get(queue.id) ?? noCounts
    return { ready: before.ready + ready, leased: before.leased + leased }
  }

  #countsBeforeOf(queue: Queue): Counts {
    let before = this.#countsBefore.get(queue.id)
    if (before === undefined) {
      before = readCounts(this.session, queue)
      this.#countsBefore.set(queue.id, before)
    }
    return before
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

  writeCounts(): Step<void> {
    for (const [id, counts] of this.#counts) {
      this.session.run(sql.addCounts, ...countNames.map((name) => counts[name]), id)
    }
    this.#counts.clear()
    this.#countsBefore.clear()
    this.#latestQueue = undefined
    return done
  }
}

const done: Step<void> = new Answer(undefined)

/** Whether others may wait for what has changed: something ready, or room under a ceiling. */
export function concernsOthers(tx: StoreTransaction): boolean {
  if (tx.gained.size > 0 || tx.hasChangedQueues) return true
  for (const name of tx.touched) {
    if (tx.session.queues.find(name)?.countsRunning) return true
  }
  return false
}
