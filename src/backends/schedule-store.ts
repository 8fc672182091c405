/**
 * Schedules: the part of a backend that makes each tick happen once. Who ticks compares the moment that
 * was due in the statement that writes the next one, and the message of the tick is in that commit.
 */
import type { Emission } from './backend.ts'

export interface ScheduleStore {
  /** Brings a declared schedule into the store. The rest of it is kept while its rule is the same. */
  ensure(request: EnsureSchedule): Promise<ScheduleRecord>
  /** Moves on from the tick that was due; `taken` when somebody else did, or it is paused. */
  tick(request: Tick): Promise<TickResult>
  /** Emits once more, now; what is due stays due. */
  runNow(request: RunNow): Promise<TickResult>
  pause(request: PauseSchedule): Promise<ScheduleRecord>
  /** Goes on with the given tick. */
  resume(request: ResumeSchedule): Promise<ScheduleRecord>
  read(request: ScheduleName): Promise<ScheduleRecord | undefined>
  /** By name. */
  list(request: { readonly prefix: string }): Promise<readonly ScheduleRecord[]>
  /** Forgets schedules of an app that it does not declare any more. */
  forgetOthers(request: {
    readonly prefix: string
    readonly keep: readonly string[]
  }): Promise<number>
}

export interface ScheduleName {
  /** Such as `reports-dev-nightly`. */
  readonly schedule: string
}

export interface EnsureSchedule extends ScheduleName {
  /** The rule in one text, so that another rule is noticed. */
  readonly rule: string
  /** The first tick, if the schedule is new or has another rule. Null: it never ticks. */
  readonly nextAt: number | null
}

export interface Tick extends ScheduleName {
  /** The tick that is due. */
  readonly dueAt: number
  readonly nextAt: number | null
  /** How many ticks before this one were passed over. */
  readonly skipped: number
  /** None: only move on, because the tick was missed and is not made up for. */
  readonly emission?: Emission
}

export interface RunNow extends ScheduleName {
  readonly by: string
  readonly emission: Emission
}

export type TickResult =
  | { readonly status: 'ticked'; readonly id: string | null }
  | { readonly status: 'taken' }

export interface PauseSchedule extends ScheduleName {
  readonly by: string
}

export interface ResumeSchedule extends ScheduleName {
  readonly by: string
  readonly nextAt: number | null
}

export interface ScheduleRecord extends ScheduleName {
  readonly rule: string
  readonly nextAt: number | null
  /** The moment of the latest tick that emitted something. */
  readonly lastAt: number | null
  readonly ticks: number
  readonly skipped: number
  readonly pausedAt: number | null
  readonly pausedBy: string | null
}
