/**
 * Building blocks for checking a declaration. Each adds its violations, with their fields, to a list. The
 * declaration may come from plain JavaScript, so nothing is assumed about it.
 */
import { describeGiven, type Violations } from '../core/checks.ts'
import { type Duration, durationMs, durationRange, formatDuration } from '../core/durations.ts'
import type { Range } from '../core/limits.ts'
import { unknownOption } from '../core/options.ts'

export type Fields = Readonly<Record<string, unknown>>

/** Settings that only exist on FIFO queues. */
export const fifoOnly: readonly string[] = ['deduplication', 'deduplicationScope']

/** Refuses unknown options, and FIFO options on other queues. */
export function checkKeys(
  into: Violations,
  field: string,
  settings: Fields,
  known: readonly string[],
): void {
  for (const key of Object.keys(settings).filter((name) => !known.includes(name))) {
    const at = fieldIn(field, key)
    const isFifoOnly = fifoOnly.includes(key)
    const allowed = 'a queue declared with fifo({...})'
    into.push(
      isFifoOnly
        ? { field: at, given: 'an option of FIFO queues', allowed }
        : unknownOption(at, key, known),
    )
  }
}

/** The name of a field in a declaration, or of an argument that is not part of one. */
export function fieldIn(field: string, key: string): string {
  return field === '' ? key : `${field}.${key}`
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
    // The value may be anything: `durationMs` throws if it is not a duration.
    return durationMs(value as Duration)
  } catch {
    return undefined
  }
}

export function checkSchema(into: Violations, field: string, value: unknown): void {
  // The schemas of some libraries are functions, so only the property of the standard counts.
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

/** Undefined if it is not a duration. Another check reports that. */
export function msOf(value: unknown): number | undefined {
  try {
    return durationMs(value as Duration)
  } catch {
    return undefined
  }
}
