/**
 * What the rules of the store run on: a view of it at one moment, and a transaction. A database implements
 * both, and the native steps that its speed depends on.
 */

import type { AttemptLostListener } from '../core/lost-attempt.ts'
import type { Ids } from '../core/ports.ts'
import {
  noCounts as noQueueCounts,
  type QueueCounter,
  queueCounterNames,
} from '../core/queue-counters.ts'
import type { Receipts } from '../core/receipt.ts'
import type { MessageIds } from './messages/message-ids.ts'
import type { NativeMessages } from './messages/native-messages.ts'
import type { Queue } from './queues/queue.ts'
import type { Query, Statement, Value } from './statements.ts'
import type { Step } from './steps.ts'
import type { Switches } from './switches/switches-on.ts'

/** Levels and counters of a queue; a transaction gathers what it adds to them. */
export type Counts = Record<CountName, number>

export type CountName = 'ready' | 'leased' | 'delayed' | QueueCounter

export const countNames: readonly CountName[] = ['ready', 'leased', 'delayed', ...queueCounterNames]

export const noCounts: Counts = { ready: 0, leased: 0, delayed: 0, ...noQueueCounts }

/** A store at one moment, to be read. */
export interface View {
  /** Store time. */
  readonly now: number
  /** Wall time, which schedules follow. */
  readonly wallMs: number
  readonly ids: Ids
  readonly messageIds: MessageIds
  readonly receipts: Receipts
  readonly switches: Switches
  /** What this process remembers between transactions. */
  readonly memory: ProcessMemory
  /** Equal texts may be stored as different ones. */
  readonly isSealed: boolean
  /** Content in the clear, for the few rules that depend on it. */
  open(text: string): string

  one<Row>(query: Query<Row>, ...values: readonly Value[]): Step<Row | undefined>
  all<Row>(query: Query<Row>, ...values: readonly Value[]): Step<readonly Row[]>
  /** Throws `queue_not_found`. */
  queue(name: string): Step<Queue>
  findQueue(name: string): Step<Queue | undefined>
  /** The counts of a queue as they were committed last. */
  counts(queue: Queue): Step<Counts>
  /** The highest sequence number that was given out. */
  lastSequence(): Step<number>
}

export interface Transaction extends View {
  readonly messages: NativeMessages
  /** Settings of queues, or kill switches, are other than before. */
  readonly hasChangedQueues: boolean
  /** Messages that this transaction has let expire so far. */
  readonly expired: number
  /** Called after the commit with each attempt of a job that was lost; undefined if nothing listens. */
  readonly onAttemptLost: AttemptLostListener | undefined

  /**
   * Keeps other transactions out of what has this name, until this one ends. For rules that read and then
   * write; a database with one writer has nothing to do.
   */
  lock(name: string): Step<void>
  /** The same for rows, by a query that locks them. */
  lockRows(query: Query<unknown>, ...values: readonly Value[]): Step<void>
  run(change: Statement, ...values: readonly Value[]): Step<void>
  /** Whether the statement changed a row. */
  changed(change: Statement, ...values: readonly Value[]): Step<boolean>
  /** How many rows the statement changed. */
  changes(change: Statement, ...values: readonly Value[]): Step<number>

  nextSequence(): Step<number>
  /**
   * Numbers that are taken from now on are higher than those of all transactions that have ended. For rows
   * whose order counts, after they were locked.
   */
  renumber(): void
  /** Tokens rise across all queues, so that a later lease always has the higher one. */
  nextToken(): Step<number>
  nextGeneration(): Step<number>

  /** Counts the write of a row that no other method counts. */
  wroteRow(queue?: Queue): void
  count(queue: Queue, name: CountName, change: number): void
  /** A counter of a queue as it stands, with what this transaction has changed. */
  counted(queue: Queue, name: CountName): Step<number>
  /** Writes the counters, for statements of this transaction that read them. */
  writeCounts(): Step<void>
  /** Another process may wait for what the queue has gained. */
  gainedReady(queue: Queue): void
  /** Settings of a queue or kill switches were changed: all processes read them again. */
  queuesChanged(): Step<void>
  /** Calls `run` right after the commit, before any promise resolves. */
  afterCommit(run: () => void): void
  /** Runs the caller's own writes in this transaction. */
  runWithin(within: (connection: object) => unknown): Step<void>
}

export function isTransaction(view: View): view is Transaction {
  return 'messages' in view
}

export interface ProcessMemory {
  /** Where tenants take turns: the bucket that was served last, by queue. */
  readonly turns: Map<number, string>
  /** The number of the finished job up to which the walk through history has come. */
  historyPosition: number
}
