/** SQLite as a database of the engine: one writer, whose transactions answer rules at once. */

import type { ClockChange } from '../../core/clock-change.ts'
import type { AttemptLostListener } from '../../core/lost-attempt.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import type { Ids, Ports } from '../../core/ports.ts'
import type { Database } from '../../engine/database.ts'
import { receiveNow } from '../../engine/messages/claiming.ts'
import { hasSomethingReady } from '../../engine/messages/ready-checks.ts'
import { query } from '../../engine/statements.ts'
import { Answer, runAtOnce, type Step } from '../../engine/steps.ts'
import { StoreClock } from '../../engine/store-clock.ts'
import type { Transaction, View } from '../../engine/transaction.ts'
import type {
  Backup,
  BackupReport,
  Delivery,
  OtherThread,
  QueueName,
  Receive,
  WhenReady,
} from '../backend.ts'
import type { Capabilities } from '../capabilities.ts'
import type { ContentOpening } from '../store.ts'
import { sqliteCapabilities } from './capabilities.ts'
import { CallerTransactions } from './driver/caller-transactions.ts'
import { uptimeOf } from './driver/machine-uptime.ts'
import { recordSentMessages, type SentRecord, sentMessages } from './driver/sent-messages.ts'
import { Session } from './driver/session.ts'
import { storageError } from './driver/storage-fault.ts'
import { type Surroundings, storePlace } from './driver/store-place.ts'
import { concernsOthers, type StoreTransaction, viewOf } from './driver/transaction.ts'
import { Writer } from './driver/writer.ts'
import { WaitingReceives } from './waiting-receives.ts'

/** Moves on when another connection, in this process or another, has committed. */
const dataVersion = query<{ data_version: number }>('PRAGMA data_version')

export interface SqliteDatabaseOptions {
  readonly file: string
  readonly ports: Ports
  readonly busyTimeoutMs: number
  readonly opening: ContentOpening
  readonly onClockChange?: ((change: ClockChange) => void) | undefined
  readonly onAttemptLost?: AttemptLostListener | undefined
  /** Records the messages that are sent, in a store that only this process uses. Default: false. */
  readonly records?: boolean
  /** Runs steps only when their rules wait for them, to find rules that do not. Default: false. */
  readonly answersLate?: boolean
}

export class SqliteDatabase implements Database {
  readonly capabilities: Capabilities = sqliteCapabilities
  readonly otherThread: OtherThread | null
  readonly #writer: Writer
  readonly #waitingReceives: WaitingReceives
  readonly #wakeFile: ReturnType<Surroundings['wakeFile']>
  readonly #fairness: Surroundings['fairness']
  readonly #callers: CallerTransactions
  readonly #ids: Ids
  #closed: Promise<void> | undefined

  constructor(options: SqliteDatabaseOptions) {
    const { file, ports, busyTimeoutMs, opening, onClockChange, records } = options
    const { answersLate = false } = options
    this.#ids = ports.ids
    const clock = new StoreClock({
      clock: ports.clock,
      uptime: uptimeOf(ports.clock),
      // Not from within the transaction that has noticed it.
      onChange: onClockChange && ((change) => ports.timers.soon(() => onClockChange(change))),
    })
    const place = storePlace({ file, ports, isAlone: records })
    const openSession = (): Session => {
      const session = new Session(place.openDatabase(), clock, ports.ids, opening)
      session.answersLate = answersLate
      session.onAttemptLost = options.onAttemptLost
      try {
        session.readStore()
      } catch (error) {
        session.close()
        throw error
      }
      return session
    }
    const session = openSession()
    if (records) recordSentMessages(session.db)
    const { disk, files, fairness, wakeFile } = place.surroundings()
    this.#fairness = fairness
    this.#writer = new Writer({
      session,
      disk,
      files,
      onLoss: (error) => this.#waitingReceives.clear({ error }),
      reopen: openSession,
      ports,
      fairness,
      busyTimeoutMs,
      beforeCommit: (tx) => this.#beforeCommit(tx),
      onFailure: () => this.#waitingReceives.retrySoon(),
    })
    this.otherThread = place.otherThread
    this.#callers = new CallerTransactions({
      ports,
      clock,
      opening,
      own: () => this.#writer.session,
      disk,
      onEnd: () => this.#heardOfOthers(),
    })
    this.#waitingReceives = new WaitingReceives({
      ports,
      isShared: place.isShared,
      session: () => this.#writer.session,
      nudge: () => this.#writer.nudge(),
    })
    this.#wakeFile = wakeFile({
      ports,
      version: () => this.#versionSeen(),
      onChange: () => this.#waitingReceives.recheckAll(),
      isAwaited: () => !this.#waitingReceives.isEmpty,
    })
  }

  async read<T>(rule: (view: View) => Step<T>): Promise<T> {
    try {
      const { session } = this.#writer
      return runAtOnce(rule(viewOf(session)))
    } catch (error) {
      throw storageError(error)
    }
  }

  change<T>(rule: (tx: Transaction) => Step<T>): Promise<T> {
    return this.#writer.submit(rule)
  }

  add<T>(rule: (tx: Transaction) => Step<T>): Promise<T> {
    return this.#writer.add(rule)
  }

  settle<T>(rule: (tx: Transaction) => Step<T>): Promise<T> {
    return this.change(rule)
  }

  settleEntries<Entry, T>(
    _key: string,
    entries: readonly Entry[],
    rule: (tx: Transaction, entries: readonly Entry[]) => Step<readonly T[]>,
  ): Promise<readonly T[]> {
    return this.change((tx) => rule(tx, entries))
  }

  /** Runs it, or throws, before it returns. */
  within<T>(transaction: object, rule: (tx: Transaction) => Step<T>): Promise<T> {
    return Promise.resolve(this.#callers.run(transaction, (tx) => runAtOnce(rule(tx))))
  }

  /** Only with `records`. */
  async sentMessages(request: QueueName): Promise<readonly SentRecord[]> {
    return sentMessages(this.#writer.session, request)
  }

  async receive(request: Receive, onEmpty: () => void): Promise<readonly Delivery[]> {
    const { signal } = request
    let waitMs = request.waitMs ?? 0
    let queueId = waitMs === 0 ? undefined : this.#emptyQueue(request)
    if (queueId === undefined) {
      const [deliveries, id] = await this.#writer.submit(function* (tx) {
        if (signal?.aborted) throw new MillraceError('aborted')
        const queue = tx.session.queues.require(request.queue)
        waitMs = request.waitMs ?? queue.settings.receiveWaitMs
        return [yield* receiveNow(tx, request, waitMs > 0), queue.id] as const
      })
      if (deliveries.length > 0) return deliveries
      if (waitMs === 0) {
        onEmpty()
        return []
      }
      queueId = id
    }
    if (signal?.aborted) throw new MillraceError('aborted')
    if (this.#closed !== undefined) return []
    this.#wakeFile.listen()
    if (this.#writer.loss !== undefined) throw this.#writer.loss
    const deliveries = await this.#waitingReceives.wait(request, queueId, waitMs)
    if (deliveries.length === 0) onEmpty()
    return deliveries
  }

  async whenReady(request: WhenReady): Promise<void> {
    if (this.#closed !== undefined) return
    this.#wakeFile.listen()
    // Listening looks at the store. The receive that follows rejects with the reason.
    if (this.#writer.loss !== undefined) return
    await this.#waitingReceives.watch(request)
  }

  check(): Promise<void> {
    // A commit of its own: a full disk can be read, and would otherwise pass for a good one.
    return this.#writer.add((tx) => new Answer(tx.wroteRow()))
  }

  async backup(request: Backup): Promise<BackupReport> {
    const { backUpStore } = await import('./backup/backup.ts')
    // Asked for first: the path must still lead to the open store.
    const source = this.#writer.session.db.location()
    return backUpStore({ ...request, source, ids: this.#ids })
  }

  close(): Promise<void> {
    this.#closed ??= this.#shutDown()
    return this.#closed
  }

  async #shutDown(): Promise<void> {
    this.#callers.close()
    this.#waitingReceives.clear()
    await this.#writer.close()
    this.#wakeFile.close()
    this.#fairness.close()
  }

  #beforeCommit(tx: StoreTransaction): () => void {
    const afterServing = this.#waitingReceives.serve(tx)
    return () => {
      if (concernsOthers(tx)) this.#wakeFile.notify()
      afterServing()
    }
  }

  /** A transaction of a caller in this process may have made something ready. */
  #heardOfOthers(): void {
    this.#wakeFile.notify()
    this.#waitingReceives.recheckAll()
  }

  /** When the store cannot be read now, the next poll tries again. */
  #versionSeen(): number {
    try {
      return this.#writer.session.one(dataVersion)?.data_version ?? 0
    } catch {
      return 0
    }
  }

  /**
   * The id of a queue that has nothing for the receive. Many programs wait for queues that are empty
   * nearly always: it must not take a transaction.
   */
  #emptyQueue(request: Receive): number | undefined {
    if (request.attemptId !== undefined) return undefined
    try {
      const { session } = this.#writer
      const view = viewOf(session)
      const queue = session.queues.require(request.queue)
      const isEmpty =
        this.#waitingReceives.hasWaiterFor(request, queue.id) ||
        !runAtOnce(hasSomethingReady(view, queue))
      return isEmpty ? queue.id : undefined
    } catch (error) {
      throw storageError(error)
    }
  }
}
