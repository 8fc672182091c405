/**
 * How a schedule is defined: when it ticks, and what each tick sends. Declared schedules and those that are
 * set at run time have the same form. A tick happens once, however many processes run the app.
 */
import type { Duration } from '../core/durations.ts'

export interface TickFacts {
  /** The planned time of the tick; for `runNow`, the current time. */
  readonly at: Date
  /** The key of the schedule in the app. */
  readonly schedule: string
}

/** Any JSON value that fits the contract of the queue or job type. */
export type FixedPayload = object | string | number | boolean | null

/** What happens to ticks that were missed because no process was running. */
export type MissedTicks = 'skip' | 'once' | 'all'

export interface CronTiming {
  /** A cron expression of five fields, or six with seconds first. */
  readonly cron: string
  /** The IANA time zone of `cron`. Default UTC. */
  readonly timezone?: string | undefined
  readonly every?: undefined
}

export interface IntervalTiming {
  /** From 1s to 365d. Ticks are at whole multiples of this since 1970, so that all processes agree. */
  readonly every: Duration
  readonly cron?: undefined
  readonly timezone?: undefined
}

export type ScheduleTiming = CronTiming | IntervalTiming

/** The job that each tick enqueues. */
export interface ScheduledJob<Queue extends string = string, Type extends string = string> {
  /** The key of the jobs queue. */
  readonly queue: Queue
  readonly type: Type
  /** The user or account that the jobs belong to; 1 to 256 characters. */
  readonly owner?: string
  /** The tenant that the jobs count for; 1 to 128 letters, digits and punctuation marks. */
  readonly tenant?: string
  /** The class of service of the jobs. Default: the one that the queue serves. */
  readonly tier?: string
  /** How many times each job may run, 1 to 1000. Default: the `attempts` of its type or queue. */
  readonly attempts?: number
}

/** The queue that each tick sends a message to. */
export interface ScheduledSend<Queue extends string = string> {
  /** The key of the queue. */
  readonly queue: Queue
  /** The group of the messages, if the queue is a FIFO queue. Default: the name of the schedule. */
  readonly group?: string
}

export type ScheduleTarget =
  | { readonly job: ScheduledJob; readonly send?: undefined }
  | { readonly send: ScheduledSend; readonly job?: undefined }

export interface SchedulePolicy {
  /**
   * What happens to ticks that were missed because no process was running. `'skip'`: none is sent. `'once'`:
   * the latest one is sent. `'all'`: each is sent, at most 100. Default `'once'`.
   */
  readonly missed?: MissedTicks
  /** The schedule ends at this time: later ticks do not happen. At most ten years from now. */
  readonly until?: Date
}

export interface SchedulePayload {
  /** The message or payload, or a function that makes it for a tick. Default: `{ at }`, as an ISO string. */
  readonly payload?: FixedPayload | ((tick: TickFacts) => unknown)
}

export type ScheduleOptions = ScheduleTiming & ScheduleTarget & SchedulePolicy & SchedulePayload

export interface DeclaredSchedule<Options extends ScheduleOptions = ScheduleOptions> {
  readonly kind: 'schedule'
  readonly options: Options
}

export type DeclaredSchedules = Readonly<Record<string, DeclaredSchedule>>

type OptionName =
  | keyof CronTiming
  | keyof ScheduleTarget
  | keyof SchedulePolicy
  | keyof SchedulePayload

/** Declares a schedule. */
export function schedule<const Options extends ScheduleOptions>(
  options: Options & { readonly [Unknown in Exclude<keyof Options, OptionName>]: never },
): DeclaredSchedule<Options> {
  return { kind: 'schedule', options }
}

/** Names of `mill.schedules` that are functions, so no declared schedule may have them. */
export const scheduleMethods = ['set', 'setMany', 'get', 'remove', 'list'] as const
