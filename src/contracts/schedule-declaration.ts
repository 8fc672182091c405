/**
 * How a schedule is declared: when it ticks, and what each tick sends. A tick happens once, however
 * many processes are there to make it.
 */
import type { Duration } from '../core/durations.ts'

export interface TickFacts {
  /** The moment for which the tick was planned; of a run by hand, the moment itself. */
  readonly at: Date
  /** The key of the schedule in the app. */
  readonly schedule: string
}

/** Any JSON value; the contract of the queue says which. */
export type FixedPayload = object | string | number | boolean | null

/** Ticks that nobody was there to make. */
export type MissedTicks = 'skip' | 'once' | 'all'

interface ScheduleBase {
  /** The key of the queue that ticks go to. */
  readonly queue: string
  /** The job type, if the queue is for jobs. */
  readonly type?: string
  /** The message or payload, or how to make it for a tick. Default: `{ at }`, in ISO form. */
  readonly payload?: FixedPayload | ((tick: TickFacts) => unknown)
  /** The group of the messages, if the queue is FIFO. Default: the schedule's key. */
  readonly group?: string
  /**
   * Ticks that nobody was there to make: `'skip'` them, make up for the latest `'once'`, or for
   * `'all'` of them (at most 100). Default `'once'`.
   */
  readonly missed?: MissedTicks
}

export interface CronSchedule extends ScheduleBase {
  /** Five fields, or six with seconds first. */
  readonly cron: string
  /** An IANA time zone. Default UTC. */
  readonly zone?: string
  readonly every?: undefined
}

export interface IntervalSchedule extends ScheduleBase {
  /** From 1s to 365d. Ticks lie at whole multiples since 1970, so that all processes agree. */
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
