/** One connection to the store with its prepared statements. It is rebuilt whole after a disk fault. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Ids } from '../../core/ports.ts'
import { type ClaimingStatements, prepareClaiming } from './claiming.ts'
import { openDatabase } from './database.ts'
import { type DeadLetterStatements, prepareDeadLettering } from './dead-lettering.ts'
import { type EnqueueingStatements, prepareEnqueueing } from './enqueueing.ts'
import { type GroupStatements, prepareGroups } from './groups.ts'
import { type JobControlStatements, prepareJobControl } from './job-control.ts'
import { type HistoryStatements, prepareHistory } from './job-history.ts'
import { type JobReadingStatements, prepareJobReading } from './job-reading.ts'
import { MessageIds } from './message-ids.ts'
import { type BodyStatements, prepareBodies } from './messages.ts'
import { type MoveStatements, prepareMoving } from './moving.ts'
import { type PeekStatements, preparePeeking } from './peeking.ts'
import { prepareQueues, type QueueStatements } from './queues.ts'
import { type AttemptStatements, prepareAttempts } from './receive-attempts.ts'
import { getRow } from './rows.ts'
import { prepareSending, type SendingStatements } from './sending.ts'
import { prepareSettling, type SettlingStatements } from './settling.ts'
import { prepareStatistics, type StatisticsStatements } from './statistics.ts'
import { isBusy } from './storage-fault.ts'
import type { StoreClock } from './store-clock.ts'
import { prepareSweeping, type SweepStatements } from './sweeping.ts'
import { type Queue, Topology } from './topology.ts'
import {
  prepareTransactions,
  type StoreRow,
  StoreTransaction,
  type TransactionStatements,
} from './transaction.ts'
import { prepareUpkeep, type UpkeepStatements } from './upkeep.ts'
import { prepareWaking, type WakingStatements } from './waking.ts'

export class Session {
  readonly db: DatabaseSync
  readonly ids: Ids
  readonly messageIds: MessageIds
  readonly topology: Topology
  /** Queues in which jobs were met, where it pays to expect another one. */
  readonly jobQueues: WeakSet<Queue> = new WeakSet()
  readonly transactions: TransactionStatements
  readonly bodies: BodyStatements
  readonly sending: SendingStatements
  readonly claiming: ClaimingStatements
  readonly attempts: AttemptStatements
  readonly settling: SettlingStatements
  readonly deadLettering: DeadLetterStatements
  readonly groups: GroupStatements
  readonly upkeep: UpkeepStatements
  readonly queues: QueueStatements
  readonly moving: MoveStatements
  readonly sweeping: SweepStatements
  readonly peeking: PeekStatements
  readonly statistics: StatisticsStatements
  readonly waking: WakingStatements
  readonly enqueueing: EnqueueingStatements
  readonly history: HistoryStatements
  readonly jobReading: JobReadingStatements
  readonly jobControl: JobControlStatements
  readonly #clock: StoreClock
  readonly #begin: StatementSync
  readonly #commit: StatementSync
  readonly #rollback: StatementSync
  readonly #store: StatementSync

  constructor(file: string, clock: StoreClock, ids: Ids) {
    const db = openDatabase(file)
    this.db = db
    this.ids = ids
    this.#clock = clock
    this.topology = new Topology(db)
    this.transactions = prepareTransactions(db)
    this.bodies = prepareBodies(db)
    this.sending = prepareSending(db)
    this.claiming = prepareClaiming(db)
    this.attempts = prepareAttempts(db)
    this.settling = prepareSettling(db)
    this.deadLettering = prepareDeadLettering(db)
    this.groups = prepareGroups(db)
    this.upkeep = prepareUpkeep(db)
    this.queues = prepareQueues(db)
    this.moving = prepareMoving(db)
    this.sweeping = prepareSweeping(db)
    this.peeking = preparePeeking(db)
    this.statistics = prepareStatistics(db)
    this.waking = prepareWaking(db)
    this.enqueueing = prepareEnqueueing(db)
    this.history = prepareHistory(db)
    this.jobReading = prepareJobReading(db)
    this.jobControl = prepareJobControl(db)
    this.#begin = db.prepare('BEGIN IMMEDIATE')
    this.#commit = db.prepare('COMMIT')
    this.#rollback = db.prepare('ROLLBACK')
    this.#store = db.prepare(`
      SELECT last_sequence, last_token, last_generation, clock_ms, topology_version FROM store`)
    const prefix = db.prepare('SELECT id_prefix FROM store').get()?.['id_prefix']
    this.messageIds = new MessageIds(String(prefix))
  }

  /** Begins a write transaction, or answers undefined while another process has the lock. */
  begin(): StoreTransaction | undefined {
    try {
      this.#begin.run()
    } catch (error) {
      if (isBusy(error)) return undefined
      throw error
    }
    const store = this.#readStore()
    return new StoreTransaction(this, store, this.#clock.now(store.clock_ms))
  }

  commit(tx: StoreTransaction): void {
    tx.finish()
    this.#commit.run()
  }

  rollback(): void {
    // SQLite has already rolled back after some faults.
    if (this.db.isTransaction) this.#rollback.run()
    this.topology.forget()
  }

  /** Brings the cached topology up to date for a read outside of a transaction; answers the time. */
  refresh(): number {
    return this.#clock.now(this.#readStore().clock_ms)
  }

  close(): void {
    if (this.db.isOpen) this.db.close()
  }

  #readStore(): StoreRow {
    const store = getRow<StoreRow>(this.#store)
    if (store === undefined) throw new Error('The store has lost its only row of bookkeeping.')
    this.topology.follow(store.topology_version)
    return store
  }
}
