/**
 * Shares commits. Operations that arrive together are applied in one transaction and resolve after its
 * commit, because a durable commit costs far more than what most operations write. An operation that
 * fails does not affect the others; when the commit fails, all of them fail and nothing is kept.
 */

import { microtask } from '../../../core/microtask.ts'
import { MillraceError } from '../../../core/millrace-error.ts'
import { afterTurns } from '../../../core/pause.ts'
import type { Ports } from '../../../core/ports.ts'
import { runAtOnce, type Step } from '../../../engine/steps.ts'
import { eagerMs, LockWait } from './lock-wait.ts'
import type { Session } from './session.ts'
import { isDeviceFault, isFullFault, isStoreWideFault, storageError } from './storage-fault.ts'
import type { Surroundings } from './store-place.ts'
import type { StoreTransaction } from './transaction.ts'
import { beginTransaction } from './transaction.ts'

/** After this long a group is committed, so that a flood does not hold the event loop. */
const groupMsMax = 10

/** How often a process that uses the store looks whether its files are still in place. */
const lookEveryMs = 250

/**
 * A caller that waits for each commit before its next call is served without a turn of the event loop in
 * between, up to this often in a row. A turn costs such a caller a tenth of its rate.
 */
const chainMax = 8

/** After this long without a commit, an operation is unlikely to have company that is worth a wait. */
const quietMs = 5

/**
 * The pause for a process that requested a turn: long enough for one of its tries to fall into it. One
 * that tries in every turn of its event loop needs a few turns of ours; one that uses timers, more.
 */
const roomTurns = 20
const roomMs = 1

/** Runs inside the transaction. May run again when another operation of the group failed half-way. */
type Rule<T> = (tx: StoreTransaction) => Step<T>

interface Operation {
  readonly rule: Rule<unknown>
  /** Adds messages, and so must leave the room that settling needs. */
  readonly adds: boolean
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
  readonly fairness: Surroundings['fairness']
  readonly disk: Surroundings['disk']
  readonly files: Surroundings['files']
  /** Called once when the files of the store are not its own any more. */
  readonly onLoss: (error: MillraceError) => void
  /** How long operations wait for other processes before they fail. */
  readonly busyTimeoutMs: number
  /** Runs last in every transaction; the function that it returns runs after the commit. */
  readonly beforeCommit: (tx: StoreTransaction) => () => void
  /** Called when a transaction could not begin or commit, and is not tried again. */
  readonly onFailure: () => void
}

export class Writer {
  readonly #options: WriterOptions
  readonly #lock: LockWait
  #session: Session | undefined
  #pending: Operation[] = []
  #isScheduled = false
  #isClosed = false
  #loss: MillraceError | undefined
  /** When the files and the disk are checked next. */
  #lookAtMs: number
  /** How long the process has waited that gets the next pause. */
  #owedAfterMs: number | undefined
  /** The present group did not fit on the disk, and is tried again. */
  #isSecondTry = false
  /** So many operations get a transaction each, since together they did not fit on the disk. */
  #alone = 0
  /** Commits that may still follow before the next turn of the event loop. */
  #chain = 0
  #isTurnOver = true
  #flushedMs: number
  #whenIdle: (() => void) | undefined

  constructor(options: WriterOptions) {
    this.#options = options
    this.#session = options.session
    const { ports, fairness, busyTimeoutMs: timeoutMs } = options
    this.#lock = new LockWait({ ports, fairness, timeoutMs })
    this.#flushedMs = options.ports.clock.monotonic()
    this.#lookAtMs = this.#flushedMs + lookEveryMs
  }

  /** Why the store can never be used again, once that is so. */
  get loss(): MillraceError | undefined {
    return this.#loss
  }

  /** The connection, for reads that need no transaction. */
  get session(): Session {
    if (this.#isClosed) throw new MillraceError('store_closed')
    if (this.#loss !== undefined) throw this.#loss
    const nowMs = this.#options.ports.clock.monotonic()
    if (nowMs >= this.#lookAtMs || this.#session === undefined) this.#look(nowMs)
    this.#session ??= this.#reopen()
    return this.#session
  }

  /** Settles, receives, changes or tidies: also when the disk is full, as long as the reserve lasts. */
  submit<T>(rule: Rule<T>): Promise<T> {
    return this.#submit(rule, false)
  }

  /** Adds messages: refused when the disk is full. */
  add<T>(rule: Rule<T>): Promise<T> {
    return this.#submit(rule, true)
  }

  #submit<T>(rule: Rule<T>, adds: boolean): Promise<T> {
    if (this.#isClosed) return Promise.reject(new MillraceError('store_closed'))
    if (this.#loss !== undefined) return Promise.reject(this.#loss)
    return new Promise<T>((resolve, reject) => {
      this.#pending.push({ rule, adds, resolve, reject, result: undefined, refusal: undefined })
      this.#schedule()
    })
  }

  /** Schedules a transaction though nothing was submitted, to serve waiting receives. */
  nudge(): void {
    if (!this.#isClosed) this.#schedule()
  }

  /** Commits what has arrived, then closes the file. */
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
    const { clock, timers } = this.#options.ports
    const flush = (): void => this.#flush()
    const owedAfterMs = this.#owedAfterMs
    this.#owedAfterMs = undefined
    const isUrgent = this.#chain > 0 || clock.monotonic() - this.#flushedMs >= quietMs
    if (owedAfterMs === undefined && isUrgent) {
      this.#chain = Math.max(0, this.#chain - 1)
      microtask(flush)
    } else if (owedAfterMs === undefined) timers.soon(flush)
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
      if (tx.writes > 0) this.#owedAfterMs = this.#options.fairness.turnRequestedSince(beganMs)
    }
    this.#flushedMs = clock.monotonic()
    if (this.#pending.length > 0) this.#schedule()
    if (!this.#isScheduled) this.#whenIdle?.()
  }

  #begin(): StoreTransaction | undefined {
    try {
      const tx = beginTransaction(this.session)
      if (tx === undefined) {
        this.#isScheduled = this.#lock.retry(() => this.#flush())
        if (!this.#isScheduled) this.#failPending(new MillraceError('store_busy'))
        return undefined
      }
      this.#lock.end()
      this.#keepRoom(tx.session)
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
      tx.commit()
      this.#isSecondTry = false
    } catch (error) {
      this.#recover(error)
      const typed = storageError(error)
      if (isFullFault(error)) this.#makeRoom(group, typed)
      else failAll(group, typed)
      if (!this.#isScheduled) this.#options.onFailure()
      return
    }
    tx.committed()
    for (const operation of group) {
      if (operation.refusal === undefined) operation.resolve(operation.result as never)
      else operation.reject(operation.refusal)
    }
    if (group.length > 1) this.#chain = 0
    else if (this.#isTurnOver) this.#allowChain()
    afterCommit()
  }

  /** A caller that calls again before the next turn has waited for this commit, and shares none. */
  #allowChain(): void {
    this.#isTurnOver = false
    this.#chain = chainMax
    this.#options.ports.timers.soon(() => {
      this.#isTurnOver = true
      this.#chain = 0
    })
  }

  /** Applies what is pending; false when the transaction was rolled back. */
  #applyPending(tx: StoreTransaction, group: Operation[]): boolean {
    const { clock } = this.#options.ports
    const pending = this.#pending
    const startedMs = clock.monotonic()
    const countMax = this.#alone > 0 ? 1 : pending.length
    this.#alone = Math.max(0, this.#alone - 1)
    let taken = 0
    for (const operation of pending) {
      if (taken === countMax) break
      // Reading the clock is not free either.
      if (taken % 16 === 15 && clock.monotonic() - startedMs > groupMsMax) break
      taken += 1
      group.push(operation)
      const writesBefore = tx.writes
      try {
        operation.result = runAtOnce(operation.rule(tx))
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

  /** An operation failed half-way: rolls back the transaction, to apply the others again. */
  #takeOut(offender: Operation, group: readonly Operation[], rest: readonly Operation[]): void {
    this.session.rollback()
    this.#pending = group.filter((operation) => operation !== offender).concat(rest)
    for (const operation of this.#pending) operation.refusal = undefined
    offender.reject(offender.refusal)
  }

  #reopen(): Session {
    const session = this.#options.reopen()
    this.#options.files.reopened()
    return session
  }

  #look(nowMs: number): void {
    this.#lookAtMs = nowMs + lookEveryMs
    const { files, disk } = this.#options
    try {
      files.check(this.#session)
    } catch (error) {
      // The open files can be used although their folder cannot be read.
      if (!(error instanceof MillraceError)) return
      this.#lose(error)
      throw error
    }
    disk.look({ mayRestore: !this.#isSecondTry })
  }

  /** Nothing is read or written any more: it would be another store, or none. */
  #lose(loss: MillraceError): void {
    this.#loss = loss
    this.#failPending(loss)
    try {
      this.#session?.close()
    } catch {
      // The files are not there to be closed properly.
    }
    this.#session = undefined
    this.#options.onLoss(loss)
  }

  /**
   * What adds messages leaves room to settle those that are there. The store grows by at most half of what
   * was free at the latest look. On a disk that is nearly full, each transaction looks.
   */
  #keepRoom(session: Session): void {
    const { disk } = this.#options
    if (disk.isLow) disk.look({ mayRestore: !this.#isSecondTry })
    if (disk.isFull) {
      const adding = this.#pending.filter(({ adds }) => adds)
      this.#pending = this.#pending.filter(({ adds }) => !adds)
      failAll(adding, new MillraceError('store_full'))
    }
    const adds = !disk.isLow || this.#pending.some((operation) => operation.adds)
    session.limitPages(disk, { adds })
  }

  /**
   * A group did not fit on the disk. All of it is tried once more after a new look. Then operations that
   * add messages are refused, and the rest is tried without them, with the reserve, and one by one: a
   * settlement that emits much must not block the others.
   */
  #makeRoom(group: readonly Operation[], error: Error): void {
    const { disk } = this.#options
    if (!disk.isLow && !this.#isSecondTry) {
      this.#isSecondTry = true
      disk.look({ mayRestore: false })
      this.#tryAgain(group)
      return
    }
    const kept = group.filter(({ adds }) => !adds)
    failAll(
      group.filter(({ adds }) => adds),
      error,
    )
    const isSmaller = kept.length < group.length
    const hasReserve = !isSmaller && disk.release()
    if (hasReserve) this.session.emptyLog()
    this.#isSecondTry = isSmaller || hasReserve || kept.length > 1
    if (!this.#isSecondTry) {
      failAll(kept, error)
      return
    }
    if (!isSmaller && !hasReserve) this.#alone = kept.length
    this.#tryAgain(kept)
  }

  #tryAgain(operations: readonly Operation[]): void {
    for (const operation of operations) operation.refusal = undefined
    this.#pending = operations.concat(this.#pending)
    // A waiting receive may be all that is to be served.
    this.#schedule()
  }

  /** After a fault of the disk the connection is not trusted: a new one is opened. */
  #recover(error: unknown): void {
    const session = this.#session
    if (session === undefined) return
    try {
      session.rollback()
      if (!isDeviceFault(error)) return
    } catch {
      // A connection that cannot even roll back is closed below.
    }
    this.#session = undefined
    try {
      session.close()
    } catch {
      // Nothing that was acknowledged needs the flush; opening the file recovers it.
    }
  }

  #failPending(error: Error): void {
    const pending = this.#pending
    this.#pending = []
    failAll(pending, error)
    this.#options.onFailure()
  }
}

function failAll(operations: readonly Operation[], error: Error): void {
  for (const { reject, refusal } of operations) reject(refusal ?? error)
}
