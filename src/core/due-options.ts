/** When a message or a job becomes due: after a delay, or at a time. */
import { describeGiven } from './checks.ts'
import { type Duration, durationMs } from './durations.ts'
import { limits } from './limits.ts'
import { MillraceError } from './millrace-error.ts'
import type { Clock } from './ports.ts'

export interface DueOptions {
  /** How long it waits before it can run, at most ten years. Overrides the queue's delay. */
  readonly delay?: Duration
  /**
   * When it can run, instead of a delay: at most ten years away. A time that passed less than a minute ago
   * means at once. An earlier one is refused.
   */
  readonly runAt?: Date
}

/** The same for the store. */
export interface Due {
  delayMs?: number
  runAt?: number
}

/** The clocks of two machines may differ, and a program takes a moment. Anything earlier is a mistake. */
const pastMsMax = 60_000

/** Throws `invalid_argument` for a time in the past or too far away, and for both options together. */
export function dueOf({ delay, runAt }: DueOptions, clock: Pick<Clock, 'now'>, prefix = ''): Due {
  if (runAt === undefined) {
    return delay === undefined
      ? {}
      : { delayMs: durationMs(delay, `${prefix}delay`, limits.messageDelayMs) }
  }
  if (delay !== undefined) {
    throw refused(`${prefix}runAt`, 'both runAt and delay', 'only one of them')
  }
  return { runAt: timeOf(runAt, clock.now(), `${prefix}runAt`) }
}

function timeOf(runAt: unknown, now: number, field: string): number {
  const at = isDate(runAt) ? runAt.getTime() : Number.NaN
  const earliest = now - pastMsMax
  const latest = now + limits.messageDelayMs.max
  if (at >= earliest && at <= latest) return at
  const range = `from ${new Date(earliest).toISOString()} to ${new Date(latest).toISOString()}`
  const [given, allowed] = isDate(runAt)
    ? [describeDate(runAt), `a time ${range}`]
    : [describeGiven(runAt), `a Date ${range}`]
  throw refused(field, given, allowed)
}

/** Test runners hand out dates of other realms, which are no `instanceof Date` here. */
function isDate(value: unknown): value is Date {
  return Object.prototype.toString.call(value) === '[object Date]'
}

function describeDate(date: Date): string {
  return Number.isNaN(date.getTime()) ? 'an invalid Date' : date.toISOString()
}

function refused(field: string, given: string, allowed: string): MillraceError {
  return MillraceError.invalid([{ field, given, allowed }])
}
