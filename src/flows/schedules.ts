/**
 * The schedules of an open app, one handle each: when they tick, and how to pause, resume and run them. The
 * state is in the store, so a change applies to every process.
 */

import type { ScheduleRecord, ScheduleStore } from '../backends/schedule-store.ts'
import type { App, PartOf } from '../contracts/define-app.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { type OptionNames, refuseUnknownOptions } from '../core/options.ts'
import { supported } from '../core/supported.ts'
import type { Logger } from '../observability/logger.ts'
import { type PlannedSchedule, planSchedules, type SchedulePlan } from './planned-schedules.ts'
import { scheduleControl } from './schedule-control.ts'

export interface ScheduleHandle {
  /** The schedule's name in the store. */
  readonly name: string
  /** When it ticks: `every 1h`, `cron 0 9 * * 1-5 in Europe/Berlin`. */
  readonly rule: string
  read(): Promise<Schedule>
  /** The next ticks, 1 to 1000. None while the schedule is paused. Default: one. */
  next(count?: number): Promise<readonly Date[]>
  /** Stops the ticks until `resume`. Pausing a paused schedule changes nothing. */
  pause(options: { readonly by: string }): Promise<Schedule>
  /** Continues with the next tick from now. Ticks missed during the pause are not sent. */
  resume(options: { readonly by: string }): Promise<Schedule>
  /** Sends its message now, even while paused. Resolves with the id of the message or job. */
  runNow(options: { readonly by: string }): Promise<string>
}

export interface Schedule {
  readonly name: string
  readonly rule: string
  /** Null while paused, or if it never ticks again. */
  readonly nextAt: Date | null
  /** The latest tick that sent something. */
  readonly lastAt: Date | null
  readonly ticks: number
  readonly skipped: number
  /** Ticks that were abandoned because their message could not be made. */
  readonly failed: number
  readonly lastError: string | null
  readonly pausedAt: Date | null
  readonly pausedBy: string | null
  readonly resumedAt: Date | null
  readonly resumedBy: string | null
  /** The latest `runNow`. */
  readonly ranAt: Date | null
  readonly ranBy: string | null
}

/** The keys of an app's schedules. */
export type ScheduleKey<Parts> = keyof PartOf<Parts, 'schedules'> & string

export type Schedules<Parts = App> = { readonly [Key in ScheduleKey<Parts>]: ScheduleHandle }

export interface SchedulesSetup extends SchedulePlan {
  readonly log: Logger
}

export function createSchedules<Opened>(setup: SchedulesSetup): Schedules<Opened> {
  const { backend } = setup
  const handles = planSchedules(setup).map((planned) => [
    planned.key,
    handleOf(planned, supported(backend.schedules), setup),
  ])
  // The handles have the keys of this app.
  return Object.freeze(Object.fromEntries(handles)) as Schedules<Opened>
}

function handleOf(
  planned: PlannedSchedule,
  store: ScheduleStore,
  { ports, log }: Pick<SchedulesSetup, 'ports' | 'log'>,
): ScheduleHandle {
  const { key, name, rule } = planned
  const control = scheduleControl(store, name)
  const note = (by: string, what: string): void =>
    log.info({ schedule: key, by: by.slice(0, 80) }, what)
  return Object.freeze({
    name,
    rule: rule.text,
    read: async () => scheduleOf(await control.read()),
    next: (count = 1) => control.next(count),
    pause: async (options) => {
      const by = actorOf(options)
      const record = await control.pause(by)
      note(by, 'schedule paused')
      return scheduleOf(record)
    },
    resume: async (options) => {
      const by = actorOf(options)
      const record = await control.resume(by)
      note(by, 'schedule resumed')
      return scheduleOf(record)
    },
    runNow: async (options) => {
      const by = actorOf(options)
      const at = new Date(await store.now())
      const emission = await planned.emission({ at, id: `${name}@run-${ports.ids.next()}` })
      const result = await store.runNow({ schedule: name, by, emission })
      if (result.status === 'taken' || result.id === null) {
        throw new MillraceError('schedule_not_found')
      }
      note(by, 'schedule run by hand')
      return result.id
    },
  } satisfies ScheduleHandle)
}

const byOptions: OptionNames<{ by: string }> = { by: true }

function actorOf(options: { readonly by: string }): string {
  refuseUnknownOptions(options, byOptions)
  return options.by
}

function scheduleOf(record: ScheduleRecord): Schedule {
  const { schedule: name, rule, ticks, skipped, failed, lastError } = record
  const { pausedBy, resumedBy, ranBy } = record
  return {
    name,
    rule,
    nextAt: record.pausedAt === null ? dateOf(record.nextAt) : null,
    lastAt: dateOf(record.lastAt),
    ticks,
    skipped,
    failed,
    lastError,
    pausedAt: dateOf(record.pausedAt),
    pausedBy,
    resumedAt: dateOf(record.resumedAt),
    resumedBy,
    ranAt: dateOf(record.ranAt),
    ranBy,
  }
}

function dateOf(ms: number | null): Date | null {
  return ms === null ? null : new Date(ms)
}
