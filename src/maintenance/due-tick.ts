/** What a tick does to a due schedule, before its message is made. */
import type { ScheduleRecord, Tick } from '../backends/schedule-store.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { chooseTick } from '../flows/missed-ticks.ts'
import type { PlannedSchedule, TickIdentity } from '../flows/planned-schedules.ts'
import { tickId } from '../flows/tick-id.ts'

export interface DueTick {
  readonly planned: PlannedSchedule
  /** As the store gets it, without a message. */
  readonly move: Tick
  /** The tick to send; null if missed ticks are skipped. */
  readonly sends: TickIdentity | null
}

export function dueTick(planned: PlannedSchedule, record: ScheduleRecord, now: number): DueTick {
  const { name, rule, missed, definition } = planned
  const dueAt = record.nextAt ?? now
  const { at, nextAt, skipped } = chooseTick({ rule, missed, dueAt, lastAt: record.lastAt, now })
  const move = { schedule: name, rule: rule.text, definition, dueAt, nextAt, skipped }
  return {
    planned,
    move: { ...move, at: at ?? dueAt },
    sends: at === null ? null : { at: new Date(at), id: tickId(name, at) },
  }
}

export interface TickFailure {
  /** The key of a declared schedule, or the name that the schedule was set under. */
  readonly schedule: string
  /** The time of the tick. */
  readonly at: Date
  readonly error: unknown
  /** 1 for the first try. */
  readonly tries: number
  /** Null: the tick was abandoned. */
  readonly retryInMs: number | null
}

/** An error of the store, not of the schedule: the service waits and retries everything. */
export function isOfStore(error: unknown): boolean {
  return error instanceof MillraceError && error.code.startsWith('store_')
}

/** The scheduler stops, so the tick stays due. */
export function isAborted(error: unknown): boolean {
  return error instanceof MillraceError && error.code === 'aborted'
}
