/**
 * Runs transactions to their commit, with the queues as they are, and knows what became of a commit whose
 * answer was lost.
 */
import type { Ports } from '../../../core/ports.ts'
import { type CommitMark, type CommitSeries, commitMarks, forgottenBefore } from './commit-mark.ts'
import type { Connection } from './connections.ts'
import { isOutdated, isUnreachable, Outdated, outcomeUnknown } from './faults.ts'
import type { Notification, QueueChanges } from './notifications.ts'
import type { Moment, StoreHead } from './store-head.ts'
import { PostgresTransaction } from './transaction.ts'
import type { StoreFacts } from './view.ts'

/** How often the server is asked what became of a commit. */
const askAgainMs = 100

type Run = (tx: PostgresTransaction) => Promise<void>

export interface TransactionsOptions {
  readonly ports: Ports
  /** For how long the server is asked. */
  readonly patienceMs: number
  readonly head: StoreHead
  readonly facts: StoreFacts
  /** Runs a function on a connection of the store. */
  readonly connected: <T>(run: (connection: Connection) => Promise<T>) => Promise<T>
  /** What a commit tells others. Undefined: they are notified after it. */
  readonly notificationOf: (changes: QueueChanges) => Notification | undefined
}

export interface Committed {
  readonly tx: PostgresTransaction
  /** Whether others were notified by the commit. */
  readonly hasNotified: boolean
}

export class Transactions {
  readonly #options: TransactionsOptions

  constructor(options: TransactionsOptions) {
    this.#options = options
  }

  /** Runs a function in a transaction, and returns that when it is committed. Throws `Outdated`. */
  async transact(series: CommitSeries, run: Run): Promise<Committed> {
    const { head, connected } = this.#options
    const committed = await connected((connection) => this.#try(connection, series, run))
    if (committed?.tx.hasChangedQueues !== false) head.outdated()
    if (committed?.tx.wroteClock) head.wroteClock(committed.tx.now)
    if (committed !== undefined) return committed
    series.hasMark = false
    throw new Outdated('The queues have changed.')
  }

  /** Removes the marks of series that have ended, and of those that were forgotten. */
  async forget(all: readonly CommitSeries[]): Promise<void> {
    const { head, connected } = this.#options
    const used = all.filter(({ hasMark }) => hasMark)
    if (used.length === 0) return
    await connected(async (connection) => {
      const { now } = await head.read(connection)
      for (const { series } of used) {
        await connection.changes(commitMarks.remove, [series, forgottenBefore(now)])
      }
    })
  }

  /** Undefined if it must run again, because the queues have changed. */
  async #try(
    connection: Connection,
    series: CommitSeries,
    run: Run,
  ): Promise<Committed | undefined> {
    const { head, facts } = this.#options
    const known = head.known()
    const moment = known ?? (await head.read(connection))
    if (!series.hasMark) {
      await connection.changes(commitMarks.create, [series.series, moment.now])
      series.hasMark = true
    }
    const place = { ...series.next(), slot: series.slot }
    const tx = new PostgresTransaction(connection, facts, moment, place)
    try {
      await run(tx)
    } catch (error) {
      await tx.rollback()
      const cause = tx.failure ?? error
      if (!isUnreachable(cause) && (await this.#isOutdated(connection, known))) return undefined
      throw cause
    }
    try {
      const { notificationOf } = this.#options
      const notification = tx.concernsOthers ? notificationOf(tx.queueChanges) : undefined
      if (!(await this.#commit(connection, tx, notification))) return undefined
      return { tx, hasNotified: notification !== undefined }
    } catch (error) {
      if (!isUnreachable(error) && (await this.#isOutdated(connection, known))) return undefined
      throw error
    }
  }

  /** Whether a rule that has failed was run with queues as they were, and not as they are. */
  async #isOutdated(connection: Connection, known: Moment | undefined): Promise<boolean> {
    if (known === undefined) return false
    const { cache } = await this.#options.head.read(connection)
    return cache.version !== known.cache.version
  }

  /** Resolves when the transaction is committed, or false if the queues have changed meanwhile. */
  async #commit(
    connection: Connection,
    tx: PostgresTransaction,
    notification: Notification | undefined,
  ): Promise<boolean> {
    try {
      return await tx.commit(notification)
    } catch (error) {
      const cause = tx.failure ?? error
      if (isOutdated(cause)) return false
      if (!isUnreachable(cause)) throw cause
      connection.markBroken()
      // The pool may have no other one to ask with.
      connection.release()
      if (await this.#hasCommitted(tx)) return true
      throw cause
    }
  }

  /** Finds out what became of a commit, as soon as the server can be reached. */
  async #hasCommitted({ place }: PostgresTransaction): Promise<boolean> {
    const { ports, patienceMs } = this.#options
    const startedMs = ports.clock.monotonic()
    for (;;) {
      const won = await this.#settledMark(place).catch(() => undefined)
      if (won !== undefined) return won === place.number
      if (ports.clock.monotonic() - startedMs > patienceMs) throw outcomeUnknown()
      await new Promise<void>((resolve) => ports.timers.after(askAgainMs, resolve))
    }
  }

  #settledMark({ series, number }: CommitMark): Promise<number> {
    return this.#options.connected(async (connection) => {
      const values = [number, number, series] as const
      const [row] = await connection.rows<{ number: number }>(commitMarks.settle, values)
      // Without a mark, which is removed when the series has committed nothing for long, the commit has failed.
      return row?.number ?? 0
    })
  }
}
