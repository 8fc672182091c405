import type { MessageAttribute, MessageState, NewMessage } from '../core/message.ts'
import type { QueueTotals } from '../core/queue-counters.ts'
import type { DeadLetterTarget, QueueSettings } from '../core/queue-settings.ts'
import type { AlarmStore } from './alarm-store.ts'
import type { Backup, BackupReport } from './backup.ts'
import type { BudgetStore } from './budget-store.ts'
import type { Capabilities } from './capabilities.ts'
import type { CarriedStore } from './carried-store.ts'
import type { CollectorStore } from './collector-store.ts'
import type { Delivery, SendResult, Settle, SettleResult } from './delivery.ts'
import type { FindingStore } from './finding-store.ts'
import type { FlowStore } from './flow-store.ts'
import type { InboxStore } from './inbox-store.ts'
import type { JobStore } from './job-store.ts'
import type { KeyStore } from './key-store.ts'
import type { MetricStore } from './metric-store.ts'
import type { OtherThread } from './other-thread.ts'
import type { ScheduleStore } from './schedule-store.ts'
import type { StackStore } from './stack-store.ts'
import type {
  Extend,
  LeaseResult,
  LeaseState,
  LeaseStates,
  Page,
  PeekedMessage,
  QueueName,
} from './stored-message.ts'
import type { SwitchStore } from './switch-store.ts'

export type * from './backup.ts'
export type * from './delivery.ts'
export type * from './emitted.ts'
export type * from './other-thread.ts'
export type * from './stored-message.ts'
export type { DeadLetterTarget, MessageAttribute, NewMessage, QueueSettings, QueueTotals }

export interface Backend {
  readonly capabilities: Capabilities
  /** Tracked jobs, on backends that keep them. */
  readonly jobs: JobStore | null
  /** Kill switches, on backends that keep them. */
  readonly switches: SwitchStore | null
  /** What handlers have spent, on backends with kill switches. */
  readonly budgets: BudgetStore | null
  /** Fan-out and fan-in, on backends that keep it. */
  readonly flows: FlowStore | null
  /** Items staged by key, on backends that keep them. */
  readonly collectors: CollectorStore | null
  readonly schedules: ScheduleStore | null
  /** Stuck work that the janitor has found. */
  readonly findings: FindingStore | null
  /** Metrics by the minute. */
  readonly metrics: MetricStore | null
  /** Alarms, their states and their notifications. */
  readonly alarms: AlarmStore | null
  /** Messages that people claim and resolve. */
  readonly inboxes: InboxStore | null
  /** Stacks that were brought up. */
  readonly stacks: StackStore | null
  /** The keys that texts are sealed with. */
  readonly keys: KeyStore | null
  /** What queues on carriers need of the store. */
  readonly carried: CarriedStore | null
  /** How another thread of this process reaches the same store; null where none can. */
  readonly otherThread: OtherThread | null

  /** Creates a queue, or returns the existing one when every given setting equals its own. */
  createQueue(request: CreateQueue): Promise<CreatedQueue>
  readQueue(request: QueueName): Promise<QueueRecord>
  /** Queues by name, in pages. */
  listQueues(request: ListQueues): Promise<Page<QueueRecord>>
  changeQueue(request: ChangeQueue): Promise<QueueRecord>
  tagQueue(request: TagQueue): Promise<QueueRecord>
  deleteQueue(request: QueueName): Promise<void>
  /** Removes all messages, in flight and delayed ones too, and all deduplication ids. */
  purgeQueue(request: PurgeQueue): Promise<void>
  queueStatistics(request: QueueName): Promise<QueueStatistics>
  /** Queues whose dead letters go to this queue. */
  listDeadLetterSources(request: ListDeadLetterSources): Promise<Page<QueueRecord>>

  send(request: Send): Promise<readonly SendResult[]>
  /** Leases up to `max` messages; waits up to `waitMs` for the first one. */
  receive(request: Receive): Promise<readonly Delivery[]>
  /** Resolves when a receive from the queue may find something, or the signal aborts. */
  whenReady(request: WhenReady): Promise<void>
  /** Whether leases can still be used, without changing anything. */
  leaseStates(request: LeaseStates): Promise<readonly LeaseState[]>
  /**
   * The deliveries of receipts that another program received, as `receive` returned them; null for a lease
   * that can no longer be used. Changes nothing.
   */
  readLeases(request: LeaseStates): Promise<readonly (Delivery | null)[]>
  /** Moves the end of live leases to `visibilityMs` from now. */
  extend(request: Extend): Promise<readonly LeaseResult[]>
  /** Ends leases: each settlement, with all that it emits, is one atomic and fenced change. */
  settle(request: Settle): Promise<readonly SettleResult[]>
  /** Reads messages without receiving them. */
  peek(request: Peek): Promise<Page<PeekedMessage>>

  startMoveTask(request: StartMoveTask): Promise<MoveTask>
  /** The latest tasks of a source queue, newest first. */
  listMoveTasks(request: ListMoveTasks): Promise<readonly MoveTask[]>
  cancelMoveTask(request: CancelMoveTask): Promise<MoveTask>

  /** One short slice of maintenance: due messages, expiry, discarded rows, move tasks. */
  sweep(): Promise<SweepReport>
  /** Resolves when the store can be read and written; rejects with the reason when it cannot. */
  check(): Promise<void>
  /**
   * Copies the store as it is now into a new file, while it is in use, and verifies the copy. Rejects
   * with `file_exists` where there is a file, and with `unsupported` without the capability.
   */
  backup(request: Backup): Promise<BackupReport>
  /** Completes calls that have arrived, ends waiting receives without messages, and closes the store. */
  close(): Promise<void>
}

export interface QueueRecord {
  readonly name: string
  readonly settings: QueueSettings
  readonly tags: Readonly<Record<string, string>>
  readonly createdAt: number
  readonly changedAt: number
}

export interface CreateQueue extends QueueName {
  readonly settings?: Partial<QueueSettings>
  readonly tags?: Readonly<Record<string, string>>
  /** Refuse when a queue of this name was deleted less than this long ago. */
  readonly cooldownMs?: number
}

export interface CreatedQueue {
  readonly queue: QueueRecord
  readonly created: boolean
}

export interface ListQueues {
  readonly prefix?: string
  /** Only queues of this namespace; `''` for those in none. Default: all. */
  readonly namespace?: string
  readonly after?: string
  readonly limit: number
}

export interface ChangeQueue extends QueueName {
  readonly changes: Partial<Omit<QueueSettings, 'type'>>
}

export interface TagQueue extends QueueName {
  readonly set?: Readonly<Record<string, string>>
  readonly remove?: readonly string[]
}

export interface PurgeQueue extends QueueName {
  /** Refuse when the queue was purged less than this long ago. */
  readonly cooldownMs?: number
}

export interface ListDeadLetterSources extends QueueName {
  readonly after?: string
  readonly limit: number
}

export interface QueueStatistics {
  readonly ready: number
  readonly leased: number
  readonly delayed: number
  /** Age of the oldest message that could be received now, or null when there is none. */
  readonly oldestReadyAgeMs: number | null
  /** Since the queue was created. */
  readonly totals: QueueTotals
}

export interface Send extends QueueName {
  readonly messages: readonly NewMessage[]
  /** Store every message or none: the first refusal rejects the call. */
  readonly allOrNothing?: boolean
}

export interface Receive extends QueueName {
  readonly max: number
  /**
   * How many messages the caller could start in the next moments, beyond `max`. A backend gives them
   * only if at least as many stay ready for other receivers and no limit counts them; it may ignore it.
   */
  readonly prefetch?: number
  /** This and the wait default to the queue's own. */
  readonly visibilityMs?: number
  readonly waitMs?: number
  /** FIFO: the same id within five minutes returns the same messages with the same receipts. */
  readonly attemptId?: string
  /** Names of kill switches that the caller's own environment has on; they hold for this call. */
  readonly heldNames?: readonly string[]
  /** Aborting a waiting receive withdraws it; nothing is leased to a caller that has left. */
  readonly signal?: AbortSignal
  /** Called as soon as messages are leased, before any promise resolves. */
  readonly onLeased?: (deliveries: readonly Delivery[]) => void
}

export interface WhenReady extends QueueName {
  readonly heldNames?: readonly string[]
  readonly signal: AbortSignal
}

export interface Peek extends QueueName {
  readonly state: MessageState
  readonly after?: string
  readonly limit: number
}

export interface StartMoveTask {
  readonly source: string
  /** Default: each message returns to the queue that dead-lettered it. */
  readonly destination?: string
  readonly movesPerSecond?: number
}

export type MoveTaskStatus = 'running' | 'cancelling' | 'cancelled' | 'completed' | 'failed'

/** The queue of a message does not exist, or the message has no record of its queue. */
export type MoveTaskFailure = 'queue_not_found' | 'origin_unknown'

export interface MoveTask {
  readonly id: string
  readonly source: string
  readonly destination: string | null
  readonly movesPerSecond: number | null
  readonly status: MoveTaskStatus
  readonly startedAt: number
  readonly moved: number
  /** Messages that were in the source when the task started. */
  readonly toMove: number
  /**
   * Messages without a queue to return to, by reason. They stay in the source. A task that skipped any
   * ends as failed, after it has moved the others.
   */
  readonly skipped: Readonly<Record<MoveTaskFailure, number>>
  readonly failure: MoveTaskFailure | null
}

export interface ListMoveTasks {
  readonly source: string
  readonly limit: number
}

export interface CancelMoveTask {
  readonly id: string
}

export interface SweepReport {
  /** Messages whose retention had ended, and that it removed. */
  readonly expired?: number
  /** Rows that this slice changed. */
  readonly changed: number
  /** There is more to do right now. */
  readonly more: boolean
}
