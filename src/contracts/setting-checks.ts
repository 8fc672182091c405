/**
 * Building blocks for checking a declaration: each adds what it refuses, under its field, to a list.
 * What was declared may come from plain JavaScript, so nothing is taken for granted.
 */
import { describeGiven, type Violations } from '../core/checks.ts'
import { type Duration, durationMs, durationRange, formatDuration } from '../core/durations.ts'
import type { Range } from '../core/limits.ts'
import { unknownOption } from '../core/options.ts'

export type Fields = Readonly<Record<string, unknown>>

/** Settings that have a meaning on FIFO queues only. */
export const fifoOnly: readonly string[] = ['deduplication', 'deduplicationScope']

/** Refuses options that do not exist, and options of FIFO queues on other queues. */
export function checkKeys(
  into: Violations,
  field: string,
  settings: Fields,
  known: readonly string[],
): void {
  for (const key of Object.keys(settings).filter((name) => !known.includes(name))) {
    const at = field === '' ? key : `${field}.${key}`
    const isFifoOnly = fifoOnly.includes(key)
    const allowed = 'a queue declared with fifo({...})'
    into.push(
      isFifoOnly
        ? { field: at, given: 'an option of FIFO queues', allowed }
        : unknownOption(at, key, known),
    )
  }
}

export type Check = (into: Violations, field: string, value: unknown) => void

export function checkEach(
  into: Violations,
  field: string,
  given: Fields,
  checks: Readonly<Record<string, Check>>,
): void {
  for (const [key, check] of Object.entries(checks)) {
    if (given[key] !== undefined) check(into, `${field}.${key}`, given[key])
  }
}

export function checkDuration(into: Violations, field: string, value: unknown, range: Range): void {
  const allowed = durationRange(range)
  const ms = parsedMs(value)
  if (ms !== undefined && ms >= range.min && ms <= range.max) return
  const given = ms === undefined ? describeGiven(value) : formatDuration(ms)
  into.push({ field, given, allowed: ms === undefined ? `${allowed}, written as '30s'` : allowed })
}

function parsedMs(value: unknown): number | undefined {
  try {
    // Whatever it is, durationMs refuses what is no duration.
    return durationMs(value as Duration)
  } catch {
    return undefined
  }
}

export function checkSchema(into: Violations, field: string, value: unknown): void {
  // Some libraries' schemas are functions, so only the property of the standard counts.
  const standard =
    (typeof value === 'object' && value !== null) || typeof value === 'function'
      ? (value as Fields)['~standard']
      : undefined
  if (
    isRecord(standard) &&
    standard['version'] === 1 &&
    typeof standard['validate'] === 'function'
  ) {
    return
  }
  into.push({
    field,
    given: describeGiven(value),
    allowed: 'a Standard Schema, such as one of zod, valibot or arktype',
  })
}

export function checkFlag(into: Violations, field: string, value: unknown): void {
  if (typeof value === 'boolean') return
  into.push({ field, given: describeGiven(value), allowed: 'true or false' })
}

export function checkFunction(into: Violations, field: string, value: unknown): void {
  if (typeof value === 'function') return
  into.push({ field, given: describeGiven(value), allowed: 'a function' })
}

export function isRecord(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Undefined for what is no duration; that is reported elsewhere. */
export function msOf(value: unknown): number | undefined {
  try {
    return durationMs(value as Duration)
  } catch {
    return undefined
  }
}
