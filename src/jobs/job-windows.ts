/** Jobs of one key within a window: the first of them wins, or the last. */
import type { Debounce, Throttle } from '../backends/job-store.ts'
import { checkText, type Violations } from '../core/checks.ts'
import { type Duration, durationMs } from '../core/durations.ts'
import { limits } from '../core/limits.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { type OptionNames, refuseUnknownOptions } from '../core/options.ts'

export interface ThrottleOptions {
  /** Counts within the queue, type and owner; 1 to 256 characters. */
  readonly key: string
  /** How long later calls return the first job, 100ms to 30d. */
  readonly window: Duration
}

export interface DebounceOptions {
  /** Counts within the queue, type and owner; 1 to 256 characters. */
  readonly key: string
  /** How long the job waits after the latest call, 100ms to 30d. */
  readonly window: Duration
  /** How long it waits at most after the first call, up to 30d. Default: no limit. */
  readonly maxWait?: Duration
}

const throttleOptions: OptionNames<ThrottleOptions> = { key: true, window: true }
const debounceOptions: OptionNames<DebounceOptions> = { ...throttleOptions, maxWait: true }

export function throttleOf(throttle: ThrottleOptions, prefix: string): Throttle {
  refuseUnknownOptions(throttle, throttleOptions, prefix)
  const { key, window } = throttle
  const violations: Violations = []
  checkText(violations, `${prefix}key`, key, limits.windowKeyLength)
  if (violations.length > 0) throw MillraceError.invalid(violations)
  return { key, windowMs: durationMs(window, `${prefix}window`, limits.windowMs) }
}

export function debounceOf(debounce: DebounceOptions, prefix: string): Debounce {
  refuseUnknownOptions(debounce, debounceOptions, prefix)
  const { maxWait, ...throttle } = debounce
  const waits = throttleOf(throttle, prefix)
  if (maxWait === undefined) return waits
  const range = { ...limits.windowMs, min: waits.windowMs }
  return { ...waits, maxWaitMs: durationMs(maxWait, `${prefix}maxWait`, range) }
}

interface Deciding {
  readonly idempotencyKey?: string
  readonly throttle?: ThrottleOptions
  readonly debounce?: DebounceOptions
  readonly delay?: Duration
}

/** Each of them decides on its own which job a call returns, and a debounce decides when it runs. */
export function refuseTogether(into: Violations, options: Deciding, prefix: string): void {
  const names = ['idempotencyKey', 'throttle', 'debounce'] as const
  const given = names.filter((name) => options[name] !== undefined)
  if (given.length > 1) {
    const [field] = given.slice(-1)
    const allowed = `only one of ${names.join(', ')}`
    into.push({ field: `${prefix}${field}`, given: given.join(' and '), allowed })
  }
  if (options.debounce !== undefined && options.delay !== undefined) {
    const allowed = 'none with debounce, whose window is the delay'
    into.push({ field: `${prefix}delay`, given: 'a delay', allowed })
  }
}
