/**
 * Metrics: the part of a backend that records queue metrics, minute by minute, for a bounded time. Every
 * commit keeps the counters anyway. Once a minute one process, no matter which, records their values.
 */
import type { HandlerFigures } from '../core/handler-figures.ts'
import type { QueueCounts } from '../core/queue-counters.ts'
import type { Page } from './stored-message.ts'

export type { HandlerFigures, QueueCounts }

export interface MetricStore {
  /**
   * Records the minute that has just ended, once, whichever process calls; does nothing until the next
   * one has ended. One short slice: with many queues it must be called again.
   */
  sample(): Promise<SampleReport>
  /** Adds what a process has counted in memory: durations of handlers, values of an app. */
  report(request: ReportFigures): Promise<void>
  /** Minutes of one queue, oldest first; minutes that were not recorded are left out. */
  minutes(request: ReadMinutes): Promise<readonly QueueMinute[]>
  /** All queues as they are now, with their totals, in one read. */
  snapshot(request: MetricPage): Promise<Page<QueueSnapshot>>
  /** Values that an app has set under its own name, as minutes. */
  values(request: ReadValues): Promise<readonly ValueMinute[]>
  /** All names that have values, in their order, with the value that was set last. */
  latest(request: MetricPage): Promise<Page<LatestValue>>
}

export interface SampleReport {
  /** The minute that was written, as its first millisecond; null when there was nothing to do. */
  readonly minute: number | null
  /** Old minutes that were removed. */
  readonly forgotten: number
  /** There is more to do right now. */
  readonly more: boolean
  /** When the minute that runs now ends, by the store's clock. */
  readonly nextInMs: number
}

export interface QueueFigures {
  readonly queue: string
  /** Receives that found nothing and of which the store does not know. */
  readonly emptyReceives?: number
  readonly handlers?: HandlerFigures
}

export interface ReportFigures {
  /** Queues that were deleted are skipped. */
  readonly queues: readonly QueueFigures[]
  /** Names beyond the thousandth are refused, and with them the whole report. */
  readonly values?: readonly { readonly name: string; readonly value: number }[]
}

export interface QueueLevels {
  readonly ready: number
  readonly leased: number
  readonly delayed: number
  /** Age of the oldest message that could be received, as `queueStatistics` has it. */
  readonly oldestReadyAgeMs: number | null
  /**
   * Age of the oldest message as SQS counts it, about: those in flight count too, those that were
   * received three times or more do not, and a dead letter's age begins when it was moved.
   */
  readonly oldestAgeMs: number | null
}

/** Counts are those of the minute; levels are those at its end. */
export interface QueueMinute extends QueueCounts, QueueLevels {
  /** Its first millisecond. */
  readonly minute: number
  /** Null when no handler has ended. */
  readonly handlers: HandlerFigures | null
}

export interface ReadMinutes {
  readonly queue: string
  /** Both included, as milliseconds; a minute counts by its first one. */
  readonly from: number
  readonly to: number
  /** Also the latest minute before these, which still holds for minutes that were not recorded. */
  readonly withLatestBefore?: boolean
}

export interface ReadValues extends Pick<ReadMinutes, 'from' | 'to'> {
  readonly name: string
}

export interface ValueMinute {
  readonly minute: number
  readonly count: number
  readonly sum: number
  readonly min: number
  readonly max: number
}

/** What has been set under a name since the store knows it. */
export interface LatestValue {
  readonly name: string
  readonly value: number
  readonly at: number
  /** How many values, and their sum, the latest included. */
  readonly count: number
  readonly sum: number
}

export interface MetricPage {
  readonly after?: string
  readonly limit: number
}

/** Counts are those since the queue was created; levels are those of now. */
export interface QueueSnapshot extends QueueCounts, QueueLevels {
  readonly queue: string
  readonly handlers: HandlerFigures | null
}
