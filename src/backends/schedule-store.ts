/**
 * Schedules: the part of a backend that makes each tick happen once. The statement that writes the next
 * tick compares the tick that was due, and the message of the tick is in the same commit. Wall time
 * decides what is due, as far as the store believes it: a jump counts once it has lasted.
 */
import type { Emitted } from './emitted.ts'

export interface ScheduleStore {
  /** Wall time, as the store believes it, from which a next tick is worked out. */
  now(): Promise<number>
  /** Brings a declared schedule into the store. The rest of it is kept while its rule is the same. */
  ensure(request: EnsureSchedule): Promise<ScheduleRecord>
  /** Those of an app whose tick is due and that are not paused, the longest overdue first. */
  due(request: ScheduleScope): Promise<DueSchedules>
  /** Advances past the tick that was due; `taken` when another process did, or the tick is not due now. */
  tick(request: Tick): Promise<TickResult>
  /** Emits once more, now. A tick that is due stays due. */
  runNow(request: RunNow): Promise<TickResult>
  /** Undefined if the schedule does not exist. A paused one does not change. */
  pause(request: PauseSchedule): Promise<ScheduleRecord | undefined>
  /** Continues with the given tick, if it was paused. */
  resume(request: ResumeSchedule): Promise<ScheduleRecord | undefined>
  read(request: ScheduleName): Promise<ScheduleRecord | undefined>
  /** By name; those of one app, or all. */
  list(request: Partial<ScheduleScope>): Promise<readonly ScheduleRecord[]>
  /**
   * Records that an open app still has these. Removes others of its scope that no app has had for
   * `abandonedAfterMs`. Returns which of these are missing, or have a rule that no app has had for that long.
   */
  renew(request: RenewSchedules): Promise<readonly string[]>
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

export interface DueSchedules {
  readonly now: number
  readonly schedules: readonly ScheduleRecord[]
  /** The next tick that is not due yet; null when there is none. */
  readonly nextAt: number | null
}

export interface Tick extends ScheduleName {
  /** The rule by which the next tick was worked out: of two versions of an app, only one may tick. */
  readonly rule: string
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

export type TickResult =
  /** The id is that of the message or job; null when nothing was emitted. */
  { readonly status: 'ticked'; readonly id: string | null } | { readonly status: 'taken' }

export interface PauseSchedule extends ScheduleName {
  readonly by: string
}

export interface ResumeSchedule extends ScheduleName {
  readonly by: string
  readonly nextAt: number | null
}

export interface RenewSchedules extends ScheduleScope {
  readonly schedules: readonly Omit<EnsureSchedule, 'scope'>[]
  readonly abandonedAfterMs: number
}

export interface ScheduleRecord extends ScheduleName, ScheduleScope {
  readonly rule: string
  readonly nextAt: number | null
  /** The moment of the latest tick that emitted something. */
  readonly lastAt: number | null
  /** Ticks that emitted something, without runs by hand. */
  readonly ticks: number
  readonly skipped: number
  /** Ticks that were abandoned because their message could not be made. */
  readonly failed: number
  /** Why the latest of those failed. */
  readonly lastError: string | null
  readonly pausedAt: number | null
  readonly pausedBy: string | null
  readonly resumedAt: number | null
  readonly resumedBy: string | null
  /** The latest run by hand. */
  readonly ranAt: number | null
  readonly ranBy: string | null
}
