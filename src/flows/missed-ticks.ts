/** Which tick is made when one is due: the one that was planned, or what the policy says is made up for. */
import type { MissedTicks } from '../contracts/schedule-declaration.ts'
import type { ScheduleRule } from '../contracts/schedule-rule.ts'

export interface DueTick {
  readonly rule: ScheduleRule
  readonly missed: MissedTicks
  /** The tick that is due by now. */
  readonly dueAt: number
  /** The latest tick that was made. */
  readonly lastAt: number | null
  readonly now: number
}

export interface TickChoice {
  /** The tick that is made; null: none of those that are due. */
  readonly at: number | null
  /** The tick after that. */
  readonly nextAt: number | null
  /** Ticks that nobody made and that are passed over; counting stops at so many as are made up for. */
  readonly skipped: number
}

/** Ticks that are made up for when all are. */
export const madeUpForMax = 100

/** A tick that nobody made within this time is missed, though none has followed it yet. */
export const missedAfterMs = 60_000

export function chooseTick({ rule, missed, dueAt, lastAt, now }: DueTick): TickChoice {
  if (lastAt !== null && dueAt <= lastAt && lastAt <= now) {
    // Made while the clock was ahead. It was set right, and has now come to that moment again.
    return { at: null, nextAt: rule.nextAfter(lastAt), skipped: 0 }
  }
  const due = ticksFrom(rule, dueAt, now)
  const kept = missed === 'all' ? due.slice(-madeUpForMax) : due.slice(-1)
  const [at = dueAt] = kept
  const skipped = Math.min(due.length - kept.length, madeUpForMax)
  if (missed === 'skip' && now - at > missedAfterMs) {
    return { at: null, nextAt: rule.nextAfter(now), skipped: Math.min(due.length, madeUpForMax) }
  }
  return { at, nextAt: rule.nextAfter(at), skipped }
}

/** The tick that is due and those after it, the latest if there are very many. */
function ticksFrom(rule: ScheduleRule, dueAt: number, now: number): readonly number[] {
  const next = rule.nextAfter(dueAt)
  // By far the most common case, and the rule is asked but once.
  if (next === null || next > now) return [dueAt]
  const latest = rule.latest(now, 2 * madeUpForMax).filter((tick) => tick >= dueAt)
  return latest.length === 0 ? [dueAt] : latest
}
