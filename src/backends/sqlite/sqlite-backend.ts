/** The port on SQLite: each method hands one operation to the writer, or reads at once. */

import type { ClockChange } from '../../core/clock-change.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import type { Ids, Ports } from '../../core/ports.ts'
import type { AlarmStore } from '../alarm-store.ts'
import type {
  Backend,
  Backup,
  BackupReport,
  CancelMoveTask,
  ChangeQueue,
  CreatedQueue,
  CreateQueue,
  Delivery,
  Extend,
  LeaseResult,
  LeaseState,
  LeaseStates,
  ListDeadLetterSources,
  ListMoveTasks,
  ListQueues,
  MoveTask,
  OtherThread,
  Page,
  Peek,
  PeekedMessage,
  PurgeQueue,
  QueueName,
  QueueRecord,
  QueueStatistics,
  Receive,
  Send,
  SendResult,
  Settle,
  SettleResult,
  StartMoveTask,
  SweepReport,
  TagQueue,
  WhenReady,
} from '../backend.ts'
import type { BudgetStore } from '../budget-store.ts'
import type { Capabilities } from '../capabilities.ts'
import type { CollectorStore } from '../collector-store.ts'
import type { FindingStore } from '../finding-store.ts'
import type { FlowStore } from '../flow-store.ts'
import type { InboxStore } from '../inbox-store.ts'
import type { JobStore } from '../job-store.ts'
import type { KeyStore } from '../key-store.ts'
import type { MetricStore } from '../metric-store.ts'
import type { ScheduleStore } from '../schedule-store.ts'
import type { StackStore } from '../stack-store.ts'
import type { SwitchStore } from '../switch-store.ts'
import { sqliteCapabilities } from './capabilities.ts'
import { CallerTransactions } from './driver/caller-transactions.ts'
import { uptimeOf } from './driver/machine-uptime.ts'
import { boundStore, readNow } from './driver/operations.ts'
import { type ContentOpening, Session } from './driver/session.ts'
import { isFullFault, storageError } from './driver/storage-fault.ts'
import { StoreClock } from './driver/store-clock.ts'
import { type Surroundings, storePlace } from './driver/store-place.ts'
import { concernsOthers, type StoreTransaction } from './driver/transaction.ts'
import { Writer } from './driver/writer.ts'
import { findingStore } from './findings/findings.ts'
import { jobStore } from './jobs/job-store.ts'
import { receiveNow } from './messages/claiming.ts'
import { EmptyReceives } from './messages/empty-receives.ts'
import { readLeaseStates, readLeases } from './messages/leases.ts'
import { insertMoveTask, markCancelling, readMoveTasks } from './messages/move-tasks.ts'
import { peekMessages } from './messages/peeking.ts'
import { dataVersion, hasSomethingReady } from './messages/ready-checks.ts'
import { sendMessages } from './messages/sending.ts'
import { recordSentMessages, type SentRecord, sentMessages } from './messages/sent-messages.ts'
import { mayFailHalfway } from './messages/settlement-parts.ts'
import { extendLeases, settleLeases } from './messages/settling.ts'
import { settleOneByOne } from './messages/settling-alone.ts'
import { WaitingReceives } from './messages/waiting-receives.ts'
import { metricStore } from './metrics/metric-store.ts'
import { queueRecord } from './queues/queue-cache.ts'
import {
  discardMessages,
  insertQueue,
  readQueuePage,
  readSourcePage,
  removeQueue,
  updateSettings,
  updateTags,
} from './queues/queues.ts'
import { readStatistics } from './queues/statistics.ts'
import {
  alarmOperations,
  budgetOperations,
  collectorOperations,
  flowOperations,
  inboxOperations,
  keyOperations,
  scheduleOperations,
  stackOperations,
  switchOperations,
} from './stores.ts'
import { sweepSlice } from './sweep.ts'

export interface SqliteBackendOptions {
  readonly file: string
  readonly ports: Ports
  readonly busyTimeoutMs: number
  readonly opening: ContentOpening
  readonly onClockChange?: ((change: ClockChange) => void) | undefined
  /** Records the messages that are sent, in a store that only this process uses. Default: false. */
  readonly records?: boolean
}

export class SqliteBackend implements Backend {
  readonly capabilities: Capabilities = sqliteCapabilities
  readonly jobs: JobStore
  readonly switches: SwitchStore
  readonly budgets: BudgetStore
  readonly flows: FlowStore
  readonly collectors: CollectorStore
  readonly schedules: ScheduleStore
  readonly findings: FindingStore
  readonly metrics: MetricStore
  readonly alarms: AlarmStore
  readonly inboxes: InboxStore
  readonly stacks: StackStore
  readonly keys: KeyStore
  readonly otherThread: OtherThread | null
  readonly #writer: Writer
  readonly #waitingReceives: WaitingReceives
  readonly #wakeFile: ReturnType<Surroundings['wakeFile']>
  readonly #fairness: Surroundings['fairness']
  readonly #callers: CallerTransactions
  readonly #ids: Ids
  readonly #emptyReceives = new EmptyReceives()
  #closed: Promise<void> | undefined

  constructor(options: SqliteBackendOptions) {
    const { file, ports, busyTimeoutMs, opening, onClockChange, records } = options
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
    this.jobs = jobStore(this.#writer, this.#callers)
    this.collectors = boundStore(this.#writer, collectorOperations)
    this.switches = boundStore(this.#writer, switchOperations)
    this.budgets = boundStore(this.#writer, budgetOperations)
    this.flows = boundStore(this.#writer, flowOperations)
    this.inboxes = boundStore(this.#writer, inboxOperations)
    this.alarms = boundStore(this.#writer, alarmOperations)
    this.schedules = boundStore(this.#writer, scheduleOperations)
    this.findings = findingStore(this.#writer)
    this.stacks = boundStore(this.#writer, stackOperations)
    this.keys = { sealing: null, ...boundStore(this.#writer, keyOperations) }
    this.metrics = metricStore(this.#writer, this.#emptyReceives)
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

  createQueue(request: CreateQueue): Promise<CreatedQueue> {
    // Opening an app makes sure of its queues, also on a full disk that is to be drained.
    return this.#writer.submit((tx) => insertQueue(tx, request))
  }

  readQueue({ queue }: QueueName): Promise<QueueRecord> {
    return readNow(this.#writer, (view) => queueRecord(view.queue(queue)))
  }

  listQueues(request: ListQueues): Promise<Page<QueueRecord>> {
    return readNow(this.#writer, (view) => readQueuePage(view, request))
  }

  changeQueue(request: ChangeQueue): Promise<QueueRecord> {
    return this.#writer.submit((tx) => updateSettings(tx, request))
  }

  tagQueue(request: TagQueue): Promise<QueueRecord> {
    return this.#writer.submit((tx) => updateTags(tx, request))
  }

  deleteQueue({ queue }: QueueName): Promise<void> {
    return this.#writer.submit((tx) => removeQueue(tx, queue))
  }

  purgeQueue(request: PurgeQueue): Promise<void> {
    return this.#writer.submit((tx) => discardMessages(tx, request))
  }

  queueStatistics({ queue }: QueueName): Promise<QueueStatistics> {
    return readNow(this.#writer, (view) => readStatistics(view, view.queue(queue)))
  }

  listDeadLetterSources(request: ListDeadLetterSources): Promise<Page<QueueRecord>> {
    return readNow(this.#writer, (view) => readSourcePage(view, request))
  }

  send(request: Send): Promise<readonly SendResult[]> {
    return this.#writer.add((tx) => sendMessages(tx, request))
  }

  /** Only with `records`. */
  sentMessages(request: QueueName): Promise<readonly SentRecord[]> {
    return readNow(this.#writer, (view) => sentMessages(view, request))
  }

  async receive(request: Receive): Promise<readonly Delivery[]> {
    const { signal } = request
    let waitMs = request.waitMs ?? 0
    let queueId = waitMs === 0 ? undefined : this.#emptyQueue(request)
    if (queueId === undefined) {
      const [deliveries, id] = await this.#writer.submit((tx) => {
        if (signal?.aborted) throw new MillraceError('aborted')
        const queue = tx.queue(request.queue)
        waitMs = request.waitMs ?? queue.settings.receiveWaitMs
        return [receiveNow(tx, request, waitMs > 0), queue.id] as const
      })
      if (deliveries.length > 0) return deliveries
      if (waitMs === 0) return this.#foundNothing(request)
      queueId = id
    }
    if (signal?.aborted) throw new MillraceError('aborted')
    if (this.#closed !== undefined) return []
    this.#wakeFile.listen()
    if (this.#writer.loss !== undefined) throw this.#writer.loss
    const deliveries = await this.#waitingReceives.wait(request, queueId, waitMs)
    return deliveries.length > 0 ? deliveries : this.#foundNothing(request)
  }

  async whenReady(request: WhenReady): Promise<void> {
    if (this.#closed !== undefined) return
    this.#wakeFile.listen()
    // Listening looks at the store. The receive that follows rejects with the reason.
    if (this.#writer.loss !== undefined) return
    await this.#waitingReceives.watch(request)
  }

  leaseStates(request: LeaseStates): Promise<readonly LeaseState[]> {
    return readNow(this.#writer, (view) => readLeaseStates(view, request))
  }

  readLeases(request: LeaseStates): Promise<readonly (Delivery | null)[]> {
    return readNow(this.#writer, (view) => readLeases(view, request))
  }

  extend(request: Extend): Promise<readonly LeaseResult[]> {
    return this.#writer.submit((tx) => extendLeases(tx, request))
  }

  settle(request: Settle): Promise<readonly SettleResult[]> {
    if (request.settlements.some(mayFailHalfway)) return settleOneByOne(this.#writer, request)
    const settled = this.#writer.submit((tx) => settleLeases(tx, request))
    if (request.settlements.length === 1) return settled
    return settled.catch((error: unknown) => {
      // On a full disk, a settlement that emits much must not block the others.
      if (!isFullFault(error)) throw error
      return settleOneByOne(this.#writer, request)
    })
  }

  peek(request: Peek): Promise<Page<PeekedMessage>> {
    return this.#writer.submit((tx) => peekMessages(tx, request))
  }

  startMoveTask(request: StartMoveTask): Promise<MoveTask> {
    return this.#writer.submit((tx) => insertMoveTask(tx, request))
  }

  listMoveTasks(request: ListMoveTasks): Promise<readonly MoveTask[]> {
    return readNow(this.#writer, (view) => readMoveTasks(view, request))
  }

  cancelMoveTask({ id }: CancelMoveTask): Promise<MoveTask> {
    return this.#writer.submit((tx) => markCancelling(tx, id))
  }

  sweep(): Promise<SweepReport> {
    return this.#writer.submit(sweepSlice)
  }

  check(): Promise<void> {
    // A commit of its own: a full disk can be read, and would otherwise pass for a good one.
    return this.#writer.add((tx) => tx.wroteRow())
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

  #foundNothing({ queue }: Receive): readonly Delivery[] {
    this.#emptyReceives.note(queue)
    return []
  }

  /** When the store cannot be read now, the next poll tries again. */
  #versionSeen(): number {
    try {
      return dataVersion(this.#writer.session)
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
      session.refresh()
      const queue = session.queues.require(request.queue)
      const isEmpty =
        this.#waitingReceives.hasWaiterFor(request, queue.id) || !hasSomethingReady(session, queue)
      return isEmpty ? queue.id : undefined
    } catch (error) {
      throw storageError(error)
    }
  }
}
