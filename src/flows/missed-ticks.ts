/** Decides which tick to send when one is due: the planned one, or missed ones as the policy requires. */
import type { MissedTicks } from '../contracts/schedule-declaration.ts'
import type { ScheduleRule } from '../contracts/schedule-rule.ts'

export interface DueTick {
  readonly rule: ScheduleRule
  readonly missed: MissedTicks
  /** The tick that is due now. */
  readonly dueAt: number
  /** The latest tick that was sent. */
  readonly lastAt: number | null
  readonly now: number
}

export interface TickChoice {
  /** The tick to send; null if no due tick is sent. */
  readonly at: number | null
  /** The tick after that. */
  readonly nextAt: number | null
  /** How many missed ticks are skipped. Counting stops at `missedTicksMax`. */
  readonly skipped: number
}

/** The most missed ticks that are sent later with the policy `all`. */
export const missedTicksMax = 100

/** A tick that was not sent within this time is missed, even if no other tick has followed. */
export const missedAfterMs = 60_000

export function chooseTick({ rule, missed, dueAt, lastAt, now }: DueTick): TickChoice {
  if (lastAt !== null && dueAt <= lastAt && lastAt <= now) {
    // This tick was sent while the clock was ahead. The clock was set back, and reached it again.
    return { at: null, nextAt: rule.nextAfter(lastAt), skipped: 0 }
  }
  const due = ticksFrom(rule, dueAt, now)
  const kept = missed === 'all' ? due.slice(-missedTicksMax) : due.slice(-1)
  const [at = dueAt] = kept
  const skipped = Math.min(due.length - kept.length, missedTicksMax)
  if (missed === 'skip' && now - at > missedAfterMs) {
    return { at: null, nextAt: rule.nextAfter(now), skipped: Math.min(due.length, missedTicksMax) }
  }
  return { at, nextAt: rule.nextAfter(at), skipped }
}

/** The due tick and those after it, or only the latest if there are very many. */
function ticksFrom(rule: ScheduleRule, dueAt: number, now: number): readonly number[] {
  const next = rule.nextAfter(dueAt)
  // The most common case by far, and it evaluates the rule only once.
  if (next === null || next > now) return [dueAt]
  const latest = rule.latest(now, 2 * missedTicksMax).filter((tick) => tick >= dueAt)
  return latest.length === 0 ? [dueAt] : latest
}
