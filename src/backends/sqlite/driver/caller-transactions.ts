/**
 * Work inside a transaction that the caller has begun on its own connection to the file of this store.
 * Everything is written before it returns, so the caller's COMMIT keeps it and its ROLLBACK undoes it.
 * This side only watches for the end, to wake waiting receives.
 */

import { realpathSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { MillraceError } from '../../../core/millrace-error.ts'
import type { Ports } from '../../../core/ports.ts'
import type { StoreClock } from '../../../engine/store-clock.ts'
import type { ContentOpening } from '../../store.ts'
import type { DiskLimits } from './disk-room.ts'
import { isLent } from './lent-connection.ts'
import { Session } from './session.ts'
import { isBusy, storageError } from './storage-fault.ts'
import type { StoreTransaction } from './transaction.ts'
import { withinTransaction } from './transaction.ts'

/** How often a transaction is checked until it has ended. */
const watchEveryMs = 3

/** After this long, only the slow poll of waiting receives notices the end. */
const watchMsMax = 5_000

/** Changes nothing, but takes the lock. What is read before it may be out of date. */
const takeLock = 'UPDATE store SET clock_ms = clock_ms'

export interface CallerTransactionsOptions {
  readonly ports: Pick<Ports, 'clock' | 'timers' | 'ids'>
  readonly clock: StoreClock
  readonly opening: ContentOpening
  /** The store's own connection. */
  readonly own: () => Session
  readonly disk: DiskLimits
  /** A transaction has ended, by a commit or otherwise. */
  readonly onEnd: () => void
}

export class CallerTransactions {
  readonly #options: CallerTransactionsOptions
  readonly #sessions = new WeakMap<DatabaseSync, Session>()
  /** Connections whose transaction has not been seen to end, and how to stop looking. */
  readonly #watched = new Map<DatabaseSync, () => void>()
  #isClosed = false

  constructor(options: CallerTransactionsOptions) {
    this.#options = options
  }

  /** Runs all of it or leaves the caller's transaction as it was. */
  run<T>(transaction: object, apply: (tx: StoreTransaction) => T): T {
    if (this.#isClosed) throw new MillraceError('store_closed')
    const own = this.#options.own()
    const db = requireTransaction(transaction)
    if (!this.#sessions.has(db)) requireSameFile(db, own.db)
    try {
      db.exec(takeLock)
      const result = this.#keepingRoom(this.#sessionOn(db), apply)
      this.#watch(db)
      return result
    } catch (error) {
      throw isBusy(error) ? busyError(error) : storageError(error)
    }
  }

  /** Callers must leave as much room on the disk as sends do. */
  #keepingRoom<T>(session: Session, apply: (tx: StoreTransaction) => T): T {
    const { disk } = this.#options
    if (!disk.isLow) return withinTransaction(session, apply)
    disk.look()
    if (disk.isFull) throw new MillraceError('store_full')
    session.limitPages(disk, { adds: true })
    try {
      return withinTransaction(session, apply)
    } finally {
      session.liftLimit()
    }
  }

  #sessionOn(db: DatabaseSync): Session {
    const known = this.#sessions.get(db)
    // A connection that was closed and opened again has lost its statements.
    if (known?.isUsable) return known
    const { clock, ports, opening } = this.#options
    const session = new Session(withPlainRows(db), clock, ports.ids, opening)
    this.#sessions.set(db, session)
    return session
  }

  /** Takes part in nothing more, and watches nothing more. */
  close(): void {
    this.#isClosed = true
    for (const stop of this.#watched.values()) stop()
    this.#watched.clear()
  }

  #watch(db: DatabaseSync): void {
    if (this.#watched.has(db)) return
    const { clock, timers } = this.#options.ports
    const startedMs = clock.monotonic()
    const look = (): void => {
      if (!this.#watched.delete(db)) return
      const isOver = !db.isOpen || !db.isTransaction
      if (isOver || clock.monotonic() - startedMs >= watchMsMax) this.#options.onEnd()
      else this.#watched.set(db, timers.after(watchEveryMs, look, { background: true }))
    }
    // Most callers commit before they do anything else.
    this.#watched.set(db, () => undefined)
    timers.soon(look)
  }
}

function busyError(cause: unknown): MillraceError {
  const message =
    'Another connection writes, or has written since this transaction first read. ' +
    'Roll it back and begin again, best with BEGIN IMMEDIATE.'
  return new MillraceError('store_busy', { message, cause })
}

/** The caller may have changed how the connection returns rows; our statements need plain ones. */
function withPlainRows(db: DatabaseSync): DatabaseSync {
  return new Proxy(db, {
    get(target, key) {
      if (key === 'prepare') {
        return (sql: string) => {
          const statement = target.prepare(sql)
          statement.setReadBigInts(false)
          statement.setReturnArrays(false)
          return statement
        }
      }
      const value: unknown = Reflect.get(target, key, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

function requireTransaction(transaction: object): DatabaseSync {
  if (!(transaction instanceof DatabaseSync)) {
    throw refused('another value', 'a DatabaseSync of node:sqlite')
  }
  if (isLent(transaction)) {
    throw refused(
      'the connection of a settlement',
      'one of your own; a handler enqueues by its context',
    )
  }
  if (!transaction.isOpen) throw refused('a closed connection', 'an open one')
  if (!transaction.isTransaction) {
    throw refused('a connection without a transaction', 'one on which BEGIN was run')
  }
  return transaction
}

function requireSameFile(db: DatabaseSync, own: DatabaseSync): void {
  const [given, expected] = [fileOf(db), fileOf(own)]
  // Two databases in memory have no file, and nothing in common.
  if (expected.path !== '' && given.identity === expected.identity) return
  throw refused(
    `a connection to ${given.path || 'no file'}`,
    expected.path === ''
      ? 'none: the store is in memory'
      : `one to the file of this store, ${expected.path}`,
  )
}

interface DatabaseFile {
  readonly path: string
  /** The same for every path that leads to the same file. */
  readonly identity: string
}

function fileOf(db: DatabaseSync): DatabaseFile {
  const path = db.location() ?? ''
  if (path === '') return { path, identity: '' }
  const { dev, ino } = statSync(path, { bigint: true })
  return { path, identity: `${realpathSync(path)} ${dev} ${ino}` }
}

function refused(given: string, allowed: string): MillraceError {
  return MillraceError.invalid([{ field: 'transaction', given, allowed }])
}
