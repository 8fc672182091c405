/**
 * The schedules of an open app: declared ones by their keys, and those that are set at run time by their
 * names. The state is in the store, so a change applies to every process.
 */
import type { Backend, Page } from '../backends/backend.ts'
import type { ScheduleChange, ScheduleStore } from '../backends/schedule-store.ts'
import type { App, PartOf } from '../contracts/define-app.ts'
import type { DeclaredQueues } from '../contracts/queue-declaration.ts'
import type { RuntimeSchedule } from '../contracts/schedule-types.ts'
import { isRecord } from '../contracts/setting-checks.ts'
import { describeGiven } from '../core/checks.ts'
import { limits } from '../core/limits.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { type OptionNames, pageOptions, refuseUnknownOptions } from '../core/options.ts'
import type { Ids } from '../core/ports.ts'
import { supported } from '../core/supported.ts'
import type { Logger } from '../observability/logger.ts'
import { listSchedules } from './list-schedules.ts'
import type { SchedulePlan } from './planned-schedules.ts'
import { createHandle, type Schedule, type ScheduleHandle } from './schedule-handle.ts'
import { type NamedOptions, setSchedules } from './set-schedules.ts'

export interface ScheduleMethods<Queues extends DeclaredQueues = DeclaredQueues> {
  /**
   * Creates or changes a schedule. With the same definition nothing changes, and the next tick is kept.
   * Names have 1 to 256 characters. The name of a declared schedule is refused.
   */
  set(name: string, schedule: RuntimeSchedule<Queues>): Promise<ScheduleChange>
  /** The same for up to 1000 schedules, in one commit: all or none. Resolves with one result each. */
  setMany(schedules: readonly NamedSchedule<Queues>[]): Promise<readonly ScheduleChange[]>
  /** The handle of a schedule, by its name or key. Its methods reject if the schedule does not exist. */
  get(name: string): ScheduleHandle
  /** Removes a schedule that was set; false if it does not exist. A declared one is refused. */
  remove(name: string): Promise<boolean>
  /** By name, declared ones too. */
  list(options?: ListSchedulesOptions): Promise<Page<Schedule>>
}

export type NamedSchedule<Queues extends DeclaredQueues = DeclaredQueues> =
  RuntimeSchedule<Queues> & { readonly name: string }

export interface ListSchedulesOptions {
  /** Only names that begin with this. */
  readonly prefix?: string
  /** 1 to 1000. Default 100. */
  readonly limit?: number
  /** The `next` of the previous page. */
  readonly after?: string
}

/** The keys of an app's schedules. */
export type ScheduleKey<Parts> = keyof PartOf<Parts, 'schedules'> & string

export type Schedules<Opened extends App = App> = ScheduleMethods<Opened['queues']> & {
  readonly [Key in ScheduleKey<Opened>]: ScheduleHandle
}

export interface SchedulesSetup {
  readonly app: App
  readonly plan: SchedulePlan
  readonly backend: Pick<Backend, 'schedules'>
  readonly ids: Ids
  readonly log: Logger
}

const listOptions: OptionNames<ListSchedulesOptions> = { ...pageOptions, prefix: true }

export function createSchedules<Opened extends App>(setup: SchedulesSetup): Schedules<Opened> {
  const { app, plan, backend, ids, log } = setup
  const store = (): ScheduleStore => supported(backend.schedules)
  const set = (given: readonly NamedOptions[]): Promise<readonly ScheduleChange[]> =>
    setSchedules({ app, plan, store: store() }, given)
  const get = (name: string): ScheduleHandle =>
    createHandle({ plan, store: store(), ids, log, name: checkedName(name) })
  const methods: ScheduleMethods = {
    set: async (name, options) => {
      const [change] = await set([{ name, options, field: '' }])
      // A store must return a result for each schedule, so this one violates the port.
      if (change === undefined) throw new MillraceError('store_failed')
      log.debug({ schedule: name, change }, 'schedule set')
      return change
    },
    setMany: async (schedules) => {
      const given = namedOptions(schedules)
      return given.length === 0 ? [] : set(given)
    },
    get,
    remove: async (name) => get(name).remove(),
    list: async (options = {}) => {
      refuseUnknownOptions(options, listOptions)
      return listSchedules(plan, store(), { prefix: '', limit: 100, ...options })
    },
  }
  const handles = plan.declared.map(({ key }) => [key, get(key)])
  // The handles have the keys of this app, and the queues are those of its types.
  return Object.freeze({
    ...Object.fromEntries(handles),
    ...methods,
  }) as unknown as Schedules<Opened>
}

function namedOptions(schedules: readonly NamedSchedule[]): readonly NamedOptions[] {
  const { max } = limits.messagesPerCall
  if (!Array.isArray(schedules) || schedules.length > max) {
    const given = Array.isArray(schedules)
      ? `${schedules.length} schedules`
      : describeGiven(schedules)
    const allowed = `an array of at most ${max} schedules`
    throw MillraceError.invalid([{ field: 'schedules', given, allowed }])
  }
  return schedules.map((entry: unknown, index) => {
    const { name, ...options } = isRecord(entry) ? entry : {}
    return { name, options, field: `schedules[${index}]` }
  })
}

function checkedName(name: unknown): string {
  if (typeof name === 'string') return name
  const allowed = 'the name of a schedule'
  throw MillraceError.invalid([{ field: 'name', given: describeGiven(name), allowed }])
}
