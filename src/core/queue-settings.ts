/** The settings of a queue and their defaults: those of SQS. */
import { limits } from './limits.ts'

export interface QueueSettings {
  readonly type: 'standard' | 'fifo'
  readonly visibilityMs: number
  readonly delayMs: number
  readonly retentionMs: number
  readonly receiveWaitMs: number
  readonly messageBytesMax: number
  readonly deadLetter: DeadLetterTarget | null
  /** Which queues may name this one as their dead-letter queue. */
  readonly deadLetterSources: 'all' | 'none' | readonly string[]
  /** FIFO only: use the hash of the body when a message brings no deduplication id. */
  readonly deduplicateByContent: boolean
  /** FIFO only: whether a deduplication id counts for the whole queue or within its group. */
  readonly deduplicationScope: 'queue' | 'group'
  /** Stored and returned for surfaces: access policy, encryption, throughput hints. */
  readonly annotations: Readonly<Record<string, string>>
  readonly ceilings: Ceilings
  readonly obeys: ObeyedSwitches
  readonly history: HistoryLifetime
  /** Paths in the bodies, such as `card.number`, that are masked wherever messages are shown. */
  readonly hidden: readonly string[]
  /** The job types that an app declares for the queue. Empty: its messages need not be jobs. */
  readonly jobTypes: readonly string[]
}

/** Ceilings for all receivers of the queue together. Null: no ceiling. */
export interface Ceilings {
  /** Messages that run at the same time. */
  readonly running: number | null
  /** The same for each tenant, that is, each group of a standard queue. */
  readonly runningPerTenant: number | null
  /** The same for job types that have a ceiling of their own. */
  readonly runningPerType: Readonly<Record<string, number>>
  /** Messages that may be taken within any span of this length. */
  readonly rate: Rate | null
  /** Ceilings for each value of a key in the body. */
  readonly perKey: readonly KeyCeiling[]
}

/** A ceiling that each value of a key has for itself. A message without a value is not limited by it. */
export interface KeyCeiling {
  /** A path in the body, such as `customer.id`. */
  readonly key: string
  readonly running: number | null
  readonly rate: Rate | null
}

export interface Rate {
  readonly max: number
  readonly perMs: number
}

/** Names of the kill switches that stop the queue, or one of its job types. */
export interface ObeyedSwitches {
  readonly queue: readonly string[]
  readonly types: Readonly<Record<string, readonly string[]>>
}

/** How long finished jobs are remembered. Null: for ever. */
export interface HistoryLifetime {
  readonly completedMs: number | null
  /** Of failed and of cancelled jobs. */
  readonly failedMs: number | null
}

export interface DeadLetterTarget {
  readonly queue: string
  readonly maxReceives: number
}

export const defaultQueueSettings: Omit<QueueSettings, 'type'> = {
  visibilityMs: 30_000,
  delayMs: 0,
  retentionMs: 4 * 86_400_000,
  receiveWaitMs: 0,
  messageBytesMax: limits.messageBytesMax.max,
  deadLetter: null,
  deadLetterSources: 'all',
  deduplicateByContent: false,
  deduplicationScope: 'queue',
  annotations: {},
  ceilings: {
    running: null,
    runningPerTenant: null,
    runningPerType: {},
    rate: null,
    perKey: [],
  },
  obeys: { queue: [], types: {} },
  history: { completedMs: 30 * 86_400_000, failedMs: 90 * 86_400_000 },
  hidden: [],
  jobTypes: [],
}
