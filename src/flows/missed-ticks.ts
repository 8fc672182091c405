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
  const { kept, skipped, nextAt } = dueTicks(rule, missed === 'all' ? missedTicksMax : 1, {
    dueAt,
    now,
  })
  const [at = dueAt, following = nextAt] = kept
  if (missed === 'skip' && now - at > missedAfterMs) {
    return { at: null, nextAt, skipped: Math.min(skipped + kept.length, missedTicksMax) }
  }
  return { at, nextAt: following, skipped }
}

interface DueTicks {
  /** The latest ticks that are due. */
  readonly kept: readonly number[]
  /** How many came before them, counted up to `missedTicksMax`. */
  readonly skipped: number
  /** The first tick that is not due. */
  readonly nextAt: number | null
}

/** Few ticks are missed as a rule, and to compute a tick is expensive, so it looks forward first. */
function dueTicks(
  rule: ScheduleRule,
  keep: number,
  { dueAt, now }: Pick<DueTick, 'dueAt' | 'now'>,
): DueTicks {
  const due = [dueAt]
  let nextAt = rule.nextAfter(dueAt)
  while (nextAt !== null && nextAt <= now && due.length < keep + missedTicksMax) {
    due.push(nextAt)
    nextAt = rule.nextAfter(nextAt)
  }
  const kept = due.slice(-keep)
  if (nextAt === null || nextAt > now) return { kept, skipped: due.length - kept.length, nextAt }
  return { kept: rule.latest(now, keep), skipped: missedTicksMax, nextAt: rule.nextAfter(now) }
}
