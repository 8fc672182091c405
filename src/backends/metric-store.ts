/**
 * Metrics: the part of a backend that remembers how queues fared, minute by minute, for a
 * bounded time. Counters are those that every commit keeps anyway; once a minute somebody writes down
 * what they have come to, and it does not matter which process that is.
 */
import type { Page } from './backend.ts'

export interface MetricStore {
  /** Writes down the minute that has just ended, once; does nothing until the next one has. */
  sample(): Promise<SampleReport>
  /** Adds what a process has counted for itself: how long handlers took, receives that were empty. */
  report(request: ReportFigures): Promise<void>
  /** Minutes of one queue, oldest first; minutes of which nothing is known are left out. */
  minutes(request: ReadMinutes): Promise<readonly QueueMinute[]>
  /** All queues as they are now, with their totals, in one read. */
  snapshot(request: SnapshotPage): Promise<Page<QueueSnapshot>>
  /** Values that an app has set under a name of its own, as minutes. */
  values(request: ReadValues): Promise<readonly ValueMinute[]>
}

export interface SampleReport {
  /** The minute that was written, as its first millisecond; null when there was nothing to do. */
  readonly minute: number | null
  /** Old minutes that were forgotten. */
  readonly forgotten: number
}

export interface QueueFigures {
  readonly queue: string
  readonly emptyReceives?: number
  readonly handlers?: HandlerFigures
}

export interface HandlerFigures {
  readonly ended: number
  readonly failed: number
  readonly durationMsSum: number
  readonly durationMsMax: number
  /** How many took at most so long, by the bounds in `core/duration-buckets.ts`; not cumulative. */
  readonly buckets: readonly number[]
}

export interface ReportFigures {
  readonly queues: readonly QueueFigures[]
  readonly values?: readonly { readonly name: string; readonly value: number }[]
}

/** Over one minute; levels are those at its end, except for the extremes. */
export interface QueueMinute {
  readonly minute: number
  readonly sent: number
  readonly received: number
  readonly acknowledged: number
  readonly deduplicated: number
  readonly deadLettered: number
  readonly expired: number
  readonly emptyReceives: number
  /** Attempts that ended without an acknowledgement: retried, buried, or lost with their lease. */
  readonly failedAttempts: number
  readonly ready: number
  readonly leased: number
  readonly delayed: number
  readonly oldestReadyAgeMs: number | null
  readonly handlers: HandlerFigures | null
}

export interface ReadMinutes {
  readonly queue: string
  /** Both included, as milliseconds. */
  readonly from: number
  readonly to: number
}

export interface ReadValues extends Omit<ReadMinutes, 'queue'> {
  readonly name: string
}

export interface ValueMinute {
  readonly minute: number
  readonly count: number
  readonly sum: number
  readonly min: number
  readonly max: number
}

export interface SnapshotPage {
  readonly after?: string
  readonly limit: number
}

export interface QueueSnapshot extends Omit<QueueMinute, 'minute' | 'handlers'> {
  readonly queue: string
  readonly handlers: HandlerFigures | null
}
