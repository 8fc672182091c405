/** The options of the carrier, checked before anything is loaded. */
import { checkRange, describeGiven, type Violations } from '../../../core/checks.ts'
import { MillraceError } from '../../../core/millrace-error.ts'
import { type OptionNames, refuseUnknownOptions } from '../../../core/options.ts'

/** Which finished jobs BullMQ keeps: all (`false`), none (`true`), the last ones, or those of the last seconds. */
export type KeptJobs =
  | boolean
  | number
  | { readonly count: number }
  | { readonly age: number; readonly count?: number; readonly limit?: number }

/** At most `max` jobs of a queue are received within `duration` milliseconds, by all processes together. */
export interface BullmqLimiter {
  readonly max: number
  readonly duration: number
}

export interface BullmqOptions {
  /** What the keys of all queues begin with. Default: `bull`, as in BullMQ. */
  readonly prefix?: string
  /** Default: the last 1,000. The options of a job have precedence. */
  readonly removeOnComplete?: KeptJobs
  /** Default: the last 1,000. */
  readonly removeOnFail?: KeptJobs
  /** By queue name as BullMQ has it. Default: no limits. */
  readonly limiters?: Readonly<Record<string, BullmqLimiter>>
  /**
   * Milliseconds between two looks for jobs whose lease has ended. Such a job can be received again after the
   * second look. Default: 5,000.
   */
  readonly stalledInterval?: number
}

export type ResolvedOptions = Required<BullmqOptions>

const optionNames: OptionNames<BullmqOptions> = {
  prefix: true,
  removeOnComplete: true,
  removeOnFail: true,
  limiters: true,
  stalledInterval: true,
}

const keptNames = { count: true, age: true, limit: true } as const
const limiterNames = { max: true, duration: true } as const

const countRange = { min: 0, max: 1_000_000_000, unit: 'jobs' }
const ageRange = { min: 0, max: 1_000_000_000, unit: 'seconds' }
const intervalRange = { min: 100, max: 3_600_000, unit: 'ms' }
const maxRange = { min: 1, max: 1_000_000_000, unit: 'jobs' }
const durationRange = { min: 1, max: 86_400_000, unit: 'ms' }

export function resolveOptions(given: BullmqOptions): ResolvedOptions {
  refuseUnknownOptions(given, optionNames)
  const options: ResolvedOptions = {
    prefix: given.prefix ?? 'bull',
    removeOnComplete: given.removeOnComplete ?? { count: 1_000 },
    removeOnFail: given.removeOnFail ?? { count: 1_000 },
    limiters: given.limiters ?? {},
    stalledInterval: given.stalledInterval ?? 5_000,
  }
  const violations: Violations = []
  const { prefix } = options
  if (typeof prefix !== 'string' || !/^[^\s]{1,200}$/.test(prefix)) {
    const allowed = '1 to 200 characters without spaces'
    violations.push({ field: 'prefix', given: describeGiven(prefix), allowed })
  }
  checkKept(violations, 'removeOnComplete', options.removeOnComplete)
  checkKept(violations, 'removeOnFail', options.removeOnFail)
  checkRange(violations, 'stalledInterval', options.stalledInterval, intervalRange)
  checkLimiters(violations, options.limiters)
  if (violations.length > 0) throw MillraceError.invalid(violations)
  return options
}

function checkKept(into: Violations, field: string, kept: unknown): void {
  if (typeof kept === 'boolean') return
  if (typeof kept !== 'object' || kept === null) {
    checkRange(into, field, kept, countRange)
    return
  }
  refuseUnknownOptions(kept, keptNames, `${field}.`)
  const { count, age, limit } = kept as { count?: unknown; age?: unknown; limit?: unknown }
  if (count !== undefined || age === undefined)
    checkRange(into, `${field}.count`, count, countRange)
  if (age !== undefined) checkRange(into, `${field}.age`, age, ageRange)
  if (limit !== undefined) checkRange(into, `${field}.limit`, limit, countRange)
}

function checkLimiters(into: Violations, limiters: unknown): void {
  if (typeof limiters !== 'object' || limiters === null || Array.isArray(limiters)) {
    const allowed = 'an object with a limiter for each queue'
    into.push({ field: 'limiters', given: describeGiven(limiters), allowed })
    return
  }
  for (const [queue, limiter] of Object.entries(limiters)) {
    refuseUnknownOptions(limiter, limiterNames, `limiters.${queue}.`)
    checkRange(into, `limiters.${queue}.max`, limiter.max, maxRange)
    checkRange(into, `limiters.${queue}.duration`, limiter.duration, durationRange)
  }
}
