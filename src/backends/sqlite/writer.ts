/**
 * Shares commits. Operations that arrive together are applied in one transaction and answered after
 * its commit, because a durable commit costs far more than what most operations write. An operation
 * that fails does not touch its neighbours; when the commit fails, all of them fail and nothing is
 * kept.
 */
import { MillraceError } from '../../core/millrace-error.ts'
import type { Ports, Timers } from '../../core/ports.ts'
import type { Courtesy } from './courtesy.ts'
import type { Session } from './session.ts'
import { isDeviceFault, isStoreWideFault, storageError } from './storage-fault.ts'
import type { StoreTransaction } from './transaction.ts'

/** After this long a group is committed, so that a flood does not hold the event loop. */
const groupMsMax = 10

/** So long a busy store is tried again in every turn of the loop, before timers take over. */
const eagerMs = 3

/** How long a process waits between two tries after that. */
const retryMs = 1

/**
 * The room left for a process that knocked: long enough for one of its tries to fall into it. One that
 * tries in every turn of its loop needs a few turns of ours; one that has gone over to timers, more.
 */
const roomTurns = 20
const roomMs = 1

/** Runs inside the transaction. May run again when a neighbour had to be taken out of the group. */
type Apply<T> = (tx: StoreTransaction) => T

interface Operation {
  readonly apply: Apply<unknown>
  readonly resolve: (value: never) => void
  readonly reject: (error: unknown) => void
  result: unknown
  refusal: unknown
}

export interface WriterOptions {
  readonly session: Session
  /** Makes a new connection after the disk has failed. */
  readonly reopen: () => Session
  readonly ports: Ports
  readonly courtesy: Courtesy
  /** How long operations wait for other processes before they fail. */
  readonly busyTimeoutMs: number
  /** Runs last in every transaction; what it answers runs after the commit. */
  readonly beforeCommit: (tx: StoreTransaction) => () => void
}

export class Writer {
  readonly #options: WriterOptions
  #session: Session | undefined
  #pending: Operation[] = []
  #isScheduled = false
  #isClosed = false
  #busySinceMs: number | undefined
  /** How long the process has waited that is owed room. */
  #owedAfterMs: number | undefined
  #whenIdle: (() => void) | undefined

  constructor(options: WriterOptions) {
    this.#options = options
    this.#session = options.session
  }

  /** The connection, for reads that need no transaction. */
  get session(): Session {
    if (this.#isClosed) throw new MillraceError('store_closed')
    this.#session ??= this.#options.reopen()
    return this.#session
  }

  submit<T>(apply: Apply<T>): Promise<T> {
    if (this.#isClosed) return Promise.reject(new MillraceError('store_closed'))
    return new Promise<T>((resolve, reject) => {
      this.#pending.push({ apply, resolve, reject, result: undefined, refusal: undefined })
      this.#schedule()
    })
  }

  /** Asks for a transaction though nothing was submitted: parked receives may be served. */
  nudge(): void {
    if (!this.#isClosed) this.#schedule()
  }

  /** Commits what has arrived, then lets go of the file. */
  async close(): Promise<void> {
    if (this.#isScheduled || this.#pending.length > 0) {
      await new Promise<void>((resolve) => {
        this.#whenIdle = resolve
      })
    }
    this.#isClosed = true
    this.#session?.close()
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    const { timers } = this.#options.ports
    const flush = (): void => this.#flush()
    const owedAfterMs = this.#owedAfterMs
    this.#owedAfterMs = undefined
    if (owedAfterMs === undefined) timers.soon(flush)
    else if (owedAfterMs < eagerMs) afterTurns(timers, roomTurns, flush)
    else timers.after(roomMs, flush)
  }

  #flush(): void {
    this.#isScheduled = false
    const { clock } = this.#options.ports
    const tx = this.#begin()
    if (tx !== undefined) {
      const beganMs = clock.now()
      this.#commitGroup(tx)
      if (tx.writes > 0) this.#owedAfterMs = this.#options.courtesy.knockedSince(beganMs)
    }
    if (this.#pending.length > 0) this.#schedule()
    if (!this.#isScheduled) this.#whenIdle?.()
  }

  #begin(): StoreTransaction | undefined {
    try {
      const tx = this.session.begin()
      if (tx === undefined) {
        this.#waitForLock()
        return undefined
      }
      this.#busySinceMs = undefined
      return tx
    } catch (error) {
      this.#recover(error)
      this.#failPending(storageError(error))
      return undefined
    }
  }

  #commitGroup(tx: StoreTransaction): void {
    const group: Operation[] = []
    let afterCommit: () => void
    try {
      if (!this.#applyPending(tx, group)) return
      afterCommit = this.#options.beforeCommit(tx)
      this.session.commit(tx)
    } catch (error) {
      this.#recover(error)
      const typed = storageError(error)
      for (const operation of group) operation.reject(operation.refusal ?? typed)
      return
    }
    for (const operation of group) {
      if (operation.refusal === undefined) operation.resolve(operation.result as never)
      else operation.reject(operation.refusal)
    }
    afterCommit()
  }

  /** Applies what is pending; false when the transaction had to be given up. */
  #applyPending(tx: StoreTransaction, group: Operation[]): boolean {
    const { clock } = this.#options.ports
    const pending = this.#pending
    const startedMs = clock.monotonic()
    let taken = 0
    for (const operation of pending) {
      // Reading the clock is not free either.
      if (taken % 16 === 15 && clock.monotonic() - startedMs > groupMsMax) break
      taken += 1
      group.push(operation)
      const writesBefore = tx.writes
      try {
        operation.result = operation.apply(tx)
      } catch (error) {
        if (isStoreWideFault(error)) {
          this.#pending = pending.slice(taken)
          throw error
        }
        operation.refusal = storageError(error)
        if (tx.writes !== writesBefore) {
          this.#takeOut(operation, group, pending.slice(taken))
          return false
        }
      }
    }
    this.#pending = pending.slice(taken)
    return true
  }

  /** An operation failed half-way: the transaction is undone and the others are applied anew. */
  #takeOut(offender: Operation, group: readonly Operation[], rest: readonly Operation[]): void {
    this.session.rollback()
    this.#pending = group.filter((operation) => operation !== offender).concat(rest)
    for (const operation of this.#pending) operation.refusal = undefined
    offender.reject(offender.refusal)
  }

  /** After a fault of the disk nothing that the connection holds is trusted: it is made anew. */
  #recover(error: unknown): void {
    const session = this.#session
    if (session === undefined) return
    try {
      session.rollback()
      if (!isDeviceFault(error)) return
    } catch {
      // A connection that cannot even roll back is given up below.
    }
    this.#session = undefined
    try {
      session.close()
    } catch {
      // Closing flushes nothing that was answered; the file is recovered when it is opened again.
    }
  }

  #waitForLock(): void {
    const { clock, timers } = this.#options.ports
    const nowMs = clock.monotonic()
    this.#busySinceMs ??= nowMs
    if (nowMs - this.#busySinceMs > this.#options.busyTimeoutMs) {
      this.#busySinceMs = undefined
      this.#failPending(new MillraceError('store_busy'))
      return
    }
    const waitedMs = nowMs - this.#busySinceMs
    this.#options.courtesy.knock(waitedMs)
    if (waitedMs < eagerMs) {
      this.#schedule()
    } else {
      this.#isScheduled = true
      timers.after(retryMs, () => this.#flush())
    }
  }

  #failPending(error: Error): void {
    const pending = this.#pending
    this.#pending = []
    for (const operation of pending) operation.reject(error)
  }
}

/** Runs it after so many turns of the event loop, without sleeping. */
function afterTurns(timers: Timers, turns: number, run: () => void): void {
  timers.soon(turns === 0 ? run : () => afterTurns(timers, turns - 1, run))
}
