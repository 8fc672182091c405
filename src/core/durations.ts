/**
 * Durations as people write them: `'6m'`, `'1h30m'`, `'250ms'`, or a number with its unit spelled
 * out. Inside Millrace every duration is a whole number of milliseconds.
 */
import { describeGiven } from './checks.ts'
import type { Range } from './limits.ts'
import { MillraceError } from './millrace-error.ts'

export type DurationUnit = 'ms' | 's' | 'm' | 'h' | 'd'

export type Duration =
  | `${number}${DurationUnit}`
  | `${number}${DurationUnit}${number}${DurationUnit}`
  | { readonly ms: number }
  | { readonly seconds: number }

const unitMs: Readonly<Record<DurationUnit, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
}

const yearMs = 365.25 * unitMs.d
const leapDaysMs = 3 * unitMs.d

/** How to write a duration, for error texts: as text only, as on a wire, and in code. */
export const durationForms = {
  inText: "a duration such as '250ms', '30s', '6m', '12h' or '14d'",
  inCode: "a duration such as '250ms', '30s', '6m', '12h', '14d', { seconds: 30 } or { ms: 250 }",
} as const

const part = /^(\d{1,15}(?:\.\d{1,3})?)(ms|s|m|h|d)/

/** Milliseconds of a duration. Throws for other forms, and for a duration out of the range. */
export function durationMs(
  duration: Duration,
  field = 'duration',
  range?: Pick<Range, 'min' | 'max'>,
): number {
  const ms = parse(duration)
  if (ms === undefined || !Number.isSafeInteger(ms) || ms < 0) {
    const allowed = durationForms.inCode
    throw MillraceError.invalid([{ field, given: describe(duration), allowed }])
  }
  if (range !== undefined && (ms < range.min || ms > range.max)) {
    const allowed = durationRange(range)
    throw MillraceError.invalid([{ field, given: formatDuration(ms), allowed }])
  }
  return ms
}

/** The durations of a range, for error texts. */
export function durationRange({ min, max }: Pick<Range, 'min' | 'max'>): string {
  return `a duration, ${describeDuration(min)} to ${describeDuration(max)}`
}

/** A limit as a person says it. Years may be a few leap days off: a text to be read back is `formatDuration`. */
export function describeDuration(ms: number): string {
  const years = Math.round(ms / yearMs)
  const isYears = years > 1 && Math.abs(ms - years * yearMs) <= leapDaysMs
  return isYears ? `${years} years` : formatDuration(ms)
}

/** The shortest exact way to write a number of milliseconds. */
export function formatDuration(ms: number): string {
  if (ms === 0) return '0s'
  for (const unit of ['d', 'h', 'm', 's'] as const) {
    if (ms >= unitMs[unit] && ms % unitMs[unit] === 0) return `${ms / unitMs[unit]}${unit}`
  }
  return `${ms}ms`
}

function parse(duration: unknown): number | undefined {
  if (typeof duration === 'string') return parseText(duration)
  if (typeof duration !== 'object' || duration === null) return undefined
  if ('ms' in duration && typeof duration.ms === 'number') return duration.ms
  if ('seconds' in duration && typeof duration.seconds === 'number') return duration.seconds * 1_000
  return undefined
}

function parseText(text: string): number | undefined {
  let rest = text.trim()
  let total = 0
  if (rest === '') return undefined
  while (rest !== '') {
    const match = part.exec(rest)
    if (match === null) return undefined
    total += Number(match[1]) * unitMs[match[2] as DurationUnit]
    rest = rest.slice(match[0].length)
  }
  // '2.3h' is 8280000 ms, though its product in floating point is a hair off.
  const whole = Math.round(total)
  return Math.abs(total - whole) < 1e-6 ? whole : total
}

function describe(duration: unknown): string {
  if (typeof duration !== 'object' || duration === null) return describeGiven(duration)
  const parts = Object.entries(duration).map(([key, value]) => `${key}: ${describeGiven(value)}`)
  return `{ ${parts.slice(0, 3).join(', ')} }`
}
