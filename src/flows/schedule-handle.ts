/** The handle of one schedule, declared or set at run time: when it ticks, and how to control it. */
import type { ScheduleRecord, ScheduleStore } from '../backends/schedule-store.ts'
import { definitionFrom, type ScheduleDefinition } from '../contracts/schedule-definition.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { type OptionNames, refuseUnknownOptions } from '../core/options.ts'
import type { Ids } from '../core/ports.ts'
import type { Logger } from '../observability/logger.ts'
import type { PlannedSchedule, SchedulePlan } from './planned-schedules.ts'
import { scheduleControl } from './schedule-control.ts'
import { tickId } from './tick-id.ts'

export interface ScheduleHandle {
  /** The key of a declared schedule, or the name that the schedule was set under. */
  readonly name: string
  read(): Promise<Schedule>
  /** The next ticks, 1 to 1000. None while the schedule is paused. Default: one. */
  next(count?: number): Promise<readonly Date[]>
  /** Stops the ticks until `resume`. Pausing a paused schedule changes nothing. */
  pause(options: { readonly by: string }): Promise<Schedule>
  /** Continues with the next tick from now. Ticks missed during the pause are not sent. */
  resume(options: { readonly by: string }): Promise<Schedule>
  /** Sends its message now, even while paused. Resolves with the id of the message or job. */
  runNow(options: { readonly by: string }): Promise<string>
  /** Removes a schedule that was set; false if it does not exist. A declared one is refused. */
  remove(): Promise<boolean>
}

export interface Schedule {
  /** The key of a declared schedule, or the name that the schedule was set under. */
  readonly name: string
  /** Whether the app declares it. Otherwise it was set at run time. */
  readonly isDeclared: boolean
  /** When it ticks: `every 1h`, `cron 0 9 * * 1-5 in Europe/Berlin`. */
  readonly rule: string
  /** What it sends; null if it is declared. */
  readonly definition: ScheduleDefinition | null
  /** Null while paused, or if it never ticks again. */
  readonly nextAt: Date | null
  /** The latest tick that sent something. */
  readonly lastAt: Date | null
  readonly ticks: number
  readonly skipped: number
  /** Ticks that were abandoned because their message could not be made. */
  readonly failed: number
  /** Why the latest of those failed, or why no tick happens. */
  readonly lastError: string | null
  readonly pausedAt: Date | null
  readonly pausedBy: string | null
  readonly resumedAt: Date | null
  readonly resumedBy: string | null
  /** The latest `runNow`. */
  readonly ranAt: Date | null
  readonly ranBy: string | null
}

export interface HandleSetup {
  readonly plan: SchedulePlan
  readonly store: ScheduleStore
  readonly ids: Ids
  readonly log: Logger
  readonly name: string
}

export function createHandle(setup: HandleSetup): ScheduleHandle {
  const { plan, store, ids, log, name: key } = setup
  const declared = plan.declared.find((one) => one.key === key)
  const name = declared?.name ?? plan.storedName(key)
  const control = scheduleControl(store, name)
  const shown = (record: ScheduleRecord): Schedule => scheduleOf(plan, record)
  const note = (by: string, what: string): void =>
    log.info({ schedule: key, by: by.slice(0, 80) }, what)
  return Object.freeze({
    name: key,
    read: async () => shown(await control.read()),
    next: (count = 1) => control.next(count),
    pause: async (options) => {
      const by = actorOf(options)
      const record = await control.pause(by)
      note(by, 'schedule paused')
      return shown(record)
    },
    resume: async (options) => {
      const by = actorOf(options)
      const record = await control.resume(by)
      note(by, 'schedule resumed')
      return shown(record)
    },
    runNow: async (options) => {
      const by = actorOf(options)
      const { emission } = declared ?? plannedOf(plan, await control.read())
      const at = new Date(await store.now())
      const emitted = await emission({ at, id: tickId(name, `run-${ids.next()}`) })
      const result = await store.runNow({ schedule: name, by, emission: emitted })
      if (result === undefined) throw new MillraceError('schedule_not_found')
      note(by, 'schedule run by hand')
      return result.id
    },
    remove: async () => {
      const isRemoved = await control.remove()
      if (isRemoved) log.info({ schedule: key }, 'schedule removed')
      return isRemoved
    },
  } satisfies ScheduleHandle)
}

/** The app does not declare it, so it was set at run time, or another version of the app declares it. */
function plannedOf(plan: SchedulePlan, record: ScheduleRecord): PlannedSchedule {
  if (record.definition !== null) return plan.planned(record, record.definition)
  const message = 'Another version of the app declares this schedule. Only that one can run it.'
  throw new MillraceError('unsupported', { message })
}

const byOptions: OptionNames<{ by: string }> = { by: true }

function actorOf(options: { readonly by: string }): string {
  refuseUnknownOptions(options, byOptions)
  return options.by
}

export function scheduleOf(plan: SchedulePlan, record: ScheduleRecord): Schedule {
  const { rule, definition, ticks, skipped, failed, lastError } = record
  const { pausedBy, resumedBy, ranBy } = record
  return {
    name: plan.nameOf(record),
    isDeclared: definition === null,
    rule,
    definition: definition === null ? null : definitionFrom(definition),
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
