/** The settings of a queue and the values they have when nobody says otherwise: those of SQS. */
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
  /** Kept and given back for the ways in: access policy, encryption, throughput hints. */
  readonly annotations: Readonly<Record<string, string>>
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
}
