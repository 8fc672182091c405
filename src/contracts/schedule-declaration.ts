/**
 * How a schedule is declared: when it ticks, and what each tick sends. A tick happens once, however many
 * processes run the app.
 */
import type { Duration } from '../core/durations.ts'

export interface TickFacts {
  /** The planned time of the tick; for `runNow`, the current time. */
  readonly at: Date
  /** The key of the schedule in the app. */
  readonly schedule: string
}

/** Any JSON value that fits the contract of the queue. */
export type FixedPayload = object | string | number | boolean | null

/** What happens to ticks that were missed because no process was running. */
export type MissedTicks = 'skip' | 'once' | 'all'

interface ScheduleBase {
  /** The key of the queue that ticks are sent to. */
  readonly queue: string
  /** The job type, if the queue is a jobs queue. */
  readonly type?: string
  /** The message or payload, or a function that makes it for a tick. Default: `{ at }`, as an ISO string. */
  readonly payload?: FixedPayload | ((tick: TickFacts) => unknown)
  /** The group of the messages, if the queue is a FIFO queue. Default: the schedule's key. */
  readonly group?: string
  /**
   * What happens to ticks that were missed because no process was running. `'skip'`: none is sent. `'once'`:
   * the latest one is sent. `'all'`: each is sent, at most 100. Default `'once'`.
   */
  readonly missed?: MissedTicks
}

export interface CronSchedule extends ScheduleBase {
  /** A cron expression of five fields, or six with seconds first. */
  readonly cron: string
  /** An IANA time zone. Default UTC. */
  readonly zone?: string
  readonly every?: undefined
}

export interface IntervalSchedule extends ScheduleBase {
  /** From 1s to 365d. Ticks are at whole multiples of this since 1970, so that all processes agree. */
  readonly every: Duration
  readonly cron?: undefined
  readonly zone?: undefined
}

export type ScheduleOptions = CronSchedule | IntervalSchedule

export interface DeclaredSchedule {
  readonly kind: 'schedule'
  readonly options: ScheduleOptions
}

export type DeclaredSchedules = Readonly<Record<string, DeclaredSchedule>>

/** Declares a schedule. */
export function schedule(options: ScheduleOptions): DeclaredSchedule {
  return { kind: 'schedule', options }
}
