/**
 * Schedules: the part of a backend that makes each tick happen once. The statement that writes the next
 * tick compares the tick that was due, and the message of the tick is in the same commit. Wall time
 * decides what is due, as far as the store believes it: a jump counts once it has lasted.
 *
 * A schedule is declared by an app, or set at run time. The store keeps the definition of the latter, so
 * that every process of the app can tick it.
 */
import type { MillraceError } from '../core/millrace-error.ts'
import type { Emitted } from './emitted.ts'
import type { Page } from './stored-message.ts'

export interface ScheduleStore {
  /** Wall time, as the store believes it, from which a next tick is worked out. */
  now(): Promise<number>
  /**
   * Brings a declared schedule into the store. The rest of it is kept while its rule is the same. Refuses the
   * name of one that was set at run time.
   */
  ensure(request: EnsureSchedule): Promise<ScheduleRecord>
  /**
   * Creates or changes schedules at run time, all or none. One result each, in order. The next tick is kept
   * while the rule is the same; counts and a pause are always kept. Refuses the name of a declared one. Rejects
   * with `schedule_ticked` if the next tick of another rule is one that was sent meanwhile.
   */
  set(request: SetSchedules): Promise<readonly ScheduleChange[]>
  /** Removes a schedule that was set at run time; false if there is none. Refuses a declared one. */
  remove(request: ScheduleName): Promise<boolean>
  /**
   * Those of an app whose tick is due and that are not paused, the longest overdue first. At most 100, shared
   * equally by the targets that have any. The cost depends on these, not on how many schedules there are.
   */
  due(request: DueRequest): Promise<DueSchedules>
  /**
   * Advances each schedule past the tick that was due, and stores its message, in one commit. One result
   * each, in order. One that was set at run time and has no next tick is removed.
   */
  tick(request: Ticks): Promise<readonly TickResult[]>
  /** Emits once more, now. A tick that is due stays due. */
  runNow(request: RunNow): Promise<RunResult>
  /** Undefined if the schedule does not exist. A paused one does not change. */
  pause(request: PauseSchedule): Promise<ScheduleRecord | undefined>
  /** Continues with the given tick, if it was paused. One without a next tick ends, as after a tick. */
  resume(request: ResumeSchedule): Promise<ScheduleRecord | undefined>
  read(request: ScheduleName): Promise<ScheduleRecord | undefined>
  /** By name; those of one app, or all. */
  list(request: ListSchedules): Promise<Page<ScheduleRecord>>
  /**
   * Records that an open app still has these. Removes other declared ones of its scope that no app has had
   * for `abandonedAfterMs`. Returns which of these are missing, or have a rule that no app has had for that
   * long.
   */
  renew(request: RenewSchedules): Promise<readonly string[]>
  /**
   * Records why no tick happens, for schedules of a target that are overdue: at most the 1000 longest
   * overdue. Returns how many did not have this error yet.
   */
  reportUnserved(request: ReportUnserved): Promise<number>
}

export interface ScheduleName {
  /** Such as `reports-dev-nightly`. */
  readonly schedule: string
}

export interface ScheduleScope {
  /** Which app and stage, as `app/stage`: a prefix of names would also be that of another app. */
  readonly scope: string
}

export interface EnsureSchedule extends ScheduleName, ScheduleScope {
  /** The rule in one text, so that another rule is noticed. */
  readonly rule: string
  /** The first tick from now; the next one is never later than this. Null: it never ticks. */
  readonly nextAt: number | null
}

export interface SetSchedules extends ScheduleScope {
  /** 1 to 1000, each name once. */
  readonly schedules: readonly SetSchedule[]
}

export interface SetSchedule extends ScheduleName {
  readonly rule: string
  /** What each tick sends: JSON that only the library reads. The store compares it as text. */
  readonly definition: string
  /** The queue, or the queue and job type, that a process must know in order to tick. */
  readonly target: string
  readonly nextAt: number
  /** What a tick would send now. The schedule is refused if the queue cannot take it; nothing is stored. */
  readonly example: Emitted
}

export type ScheduleChange = 'created' | 'changed' | 'unchanged'

export interface DueRequest extends ScheduleScope {
  /** The targets that this process knows. Declared schedules are always included. */
  readonly targets: readonly string[]
}

export interface DueSchedules {
  readonly now: number
  readonly schedules: readonly ScheduleRecord[]
  /** The next tick that is not due yet; null when there is none. */
  readonly nextAt: number | null
  /** Other targets with ticks that are due, and since when. */
  readonly unserved: readonly UnservedTarget[]
}

export interface UnservedTarget {
  readonly target: string
  readonly dueAt: number
}

export interface Ticks {
  /** 1 to 1000. */
  readonly ticks: readonly Tick[]
}

export interface Tick extends ScheduleName {
  /** The rule by which the next tick was worked out: of two versions of an app, only one may tick. */
  readonly rule: string
  /** What the message was made from. One that has changed meanwhile is not sent. */
  readonly definition: string | null
  /** The tick that is due. */
  readonly dueAt: number
  readonly nextAt: number | null
  /** The planned time of the emitted message; later than `dueAt` when ticks were passed over. */
  readonly at: number
  /** How many ticks were passed over; counting may stop at 100. */
  readonly skipped: number
  /** None: only advance, because the tick was missed and is not made up for, or failed for good. */
  readonly emission?: Emitted
  /** Why nothing could be emitted: a safe summary. */
  readonly failure?: string
}

export interface RunNow extends ScheduleName {
  readonly by: string
  readonly emission: Emitted
}

/** The id is that of the message or job; null when nothing was emitted. */
export type TickResult =
  | { readonly status: 'ticked'; readonly id: string | null }
  /** Another process ticked, the schedule has changed, or the tick is not due now. */
  | { readonly status: 'taken' }
  /** The queue cannot take the message, so the tick is still due. */
  | { readonly status: 'refused'; readonly error: MillraceError }

/** Undefined if the schedule does not exist. */
export type RunResult = { readonly id: string } | undefined

export interface PauseSchedule extends ScheduleName {
  readonly by: string
}

export interface ResumeSchedule extends ScheduleName {
  readonly by: string
  readonly nextAt: number | null
}

export interface ListSchedules extends Partial<ScheduleScope> {
  /** Only names that begin with this. */
  readonly prefix?: string
  /** Only declared ones, or only those that were set at run time. Default: both. */
  readonly isDeclared?: boolean
  /** The `next` of the previous page. */
  readonly after?: string
  readonly limit: number
}

export interface RenewSchedules extends ScheduleScope {
  readonly schedules: readonly Omit<EnsureSchedule, 'scope'>[]
  readonly abandonedAfterMs: number
}

export interface ReportUnserved extends ScheduleScope {
  readonly target: string
  readonly overdueMs: number
  readonly error: string
}

export interface ScheduleRecord extends ScheduleName, ScheduleScope {
  readonly rule: string
  /** Null if it is declared. */
  readonly definition: string | null
  readonly nextAt: number | null
  /** The moment of the latest tick that emitted something. */
  readonly lastAt: number | null
  /** Ticks that emitted something, without runs by hand. */
  readonly ticks: number
  readonly skipped: number
  /** Ticks that were abandoned because their message could not be made. */
  readonly failed: number
  /** Why the latest of those failed, or why no tick happens. */
  readonly lastError: string | null
  readonly pausedAt: number | null
  readonly pausedBy: string | null
  readonly resumedAt: number | null
  readonly resumedBy: string | null
  /** The latest run by hand. */
  readonly ranAt: number | null
  readonly ranBy: string | null
}
