/** One connection to the store with its prepared statements. It is rebuilt whole after a disk fault. */

import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { AttemptLostListener } from '../../../core/lost-attempt.ts'
import type { Ids } from '../../../core/ports.ts'
import { Receipts } from '../../../core/receipt.ts'
import { keyIds, refuseMissingKeys } from '../../../engine/keys/known-keys.ts'
import { MessageIds } from '../../../engine/messages/message-ids.ts'
import type { Queue } from '../../../engine/queues/queue.ts'
import { query } from '../../../engine/statements.ts'
import type { StoreClock, WrittenTime } from '../../../engine/store-clock.ts'
import type { ProcessMemory } from '../../../engine/transaction.ts'
import type { ContentOpening } from '../../store.ts'
import { boundLog } from './database.ts'
import { type DiskLimits, pagesMax } from './disk-room.ts'
import { QueueCache } from './queue-cache.ts'
import { Statements } from './statements.ts'

const readStore = query<StoreRow>(`
  SELECT last_sequence, last_token, last_generation, clock_ms, queues_version, wall_ms, uptime_ms, boot
  FROM store`)

const readMarks = 'SELECT id_prefix, receipt_key, unsigned_token_max FROM store'

export interface StoreRow extends WrittenTime {
  readonly last_sequence: number
  readonly last_token: number
  readonly last_generation: number
  readonly queues_version: number
}

export class Session extends Statements {
  readonly ids: Ids
  readonly messageIds: MessageIds
  readonly receipts: Receipts
  readonly queues: QueueCache
  /** Queues that had jobs, where it pays to expect another one. */
  readonly jobQueues: WeakSet<Queue> = new WeakSet()
  readonly memory: ProcessMemory = { turns: new Map(), historyPosition: 0 }
  readonly clock: StoreClock
  /** Set in tests: steps run when their rules wait for them. */
  answersLate = false
  onAttemptLost: AttemptLostListener | undefined
  /** Set where a transaction that changed queues may be rolled back without notice: read them each time. */
  mistrustsQueues = false
  readonly #begin: StatementSync
  readonly #commit: StatementSync
  readonly #rollback: StatementSync
  #isTight = false
  /** The look at the disk that the connection's limit comes from. */
  #limitedBy: number | undefined

  /** Undefined if this process reads no content. */
  readonly #opening: ContentOpening | undefined

  constructor(db: DatabaseSync, clock: StoreClock, ids: Ids, opening?: ContentOpening) {
    super(db)
    this.#opening = opening
    this.ids = ids
    this.clock = clock
    this.queues = new QueueCache(this)
    this.#begin = db.prepare('BEGIN IMMEDIATE')
    this.#commit = db.prepare('COMMIT')
    this.#rollback = db.prepare('ROLLBACK')
    const marks = { ...db.prepare(readMarks).get() }
    this.messageIds = new MessageIds(String(marks['id_prefix']))
    this.receipts = new Receipts(String(marks['receipt_key']), Number(marks['unsigned_token_max']))
  }

  /** Equal texts may be stored as different ones. */
  get isSealed(): boolean {
    return this.#opening !== undefined && this.#opening.keyIds.length > 0
  }

  /** Content in the clear, for the few rules that depend on it. */
  open(text: string): string {
    return this.#opening === undefined ? text : this.#opening.open(text)
  }

  begin(): void {
    this.#begin.run()
  }

  commit(): void {
    this.#commit.run()
  }

  rollback(): void {
    // SQLite has already rolled back after some faults.
    if (this.db.isTransaction) this.#rollback.run()
    this.queues.forget()
  }

  /** Lets the store grow as far as the latest look at the disk allows, and keeps its log small there. */
  limitPages(disk: DiskLimits, { adds }: { readonly adds: boolean }): void {
    if (disk.looks === this.#limitedBy) return
    this.#limitedBy = disk.looks
    this.#setTight(disk.isLow)
    this.db.exec(`PRAGMA max_page_count = ${disk.pageLimit({ adds })}`)
  }

  /** Leaves the connection as it was found. */
  liftLimit(): void {
    this.#limitedBy = undefined
    this.#setTight(false)
    this.db.exec(`PRAGMA max_page_count = ${pagesMax}`)
  }

  #setTight(isTight: boolean): void {
    if (isTight !== this.#isTight) boundLog(this.db, { isTight })
    this.#isTight = isTight
  }

  /** Moves the log into the file and empties it, as far as other connections allow. */
  emptyLog(): void {
    try {
      this.db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    } catch {
      // The next checkpoint does it.
    }
  }

  /** Brings the cached queues up to date for a read outside of a transaction; returns the time. */
  refresh(): number {
    return this.clock.now(this.readStore())
  }

  /** Whether its statements still belong to an open connection. */
  get isUsable(): boolean {
    try {
      return this.one(readStore) !== undefined
    } catch {
      return false
    }
  }

  close(): void {
    if (this.db.isOpen) this.db.close()
  }

  /** Also brings the cached queues up to date. */
  readStore(): StoreRow {
    const store = this.one(readStore)
    if (store === undefined) throw new Error('The store has lost its only row of bookkeeping.')
    const { queues_version: version } = store
    // A new key raises the version too.
    if (this.#opening !== undefined && !this.queues.isAt(version)) {
      refuseMissingKeys(this.all(keyIds), this.#opening.keyIds)
    }
    this.queues.follow(version)
    return store
  }
}
