/** Small building blocks for checking input: each adds what it refuses to a list of violations. */
import { describeRange, type Range } from './limits.ts'
import type { Violation } from './millrace-error.ts'

export type Violations = Violation[]

/** What was given, in a few words that never contain a body. */
export function describeGiven(value: unknown): string {
  if (typeof value === 'string') {
    return value.length > 40
      ? `'${value.slice(0, 40)}…' (${value.length} characters)`
      : `'${value}'`
  }
  if (typeof value === 'number' || typeof value === 'boolean' || value == null) return String(value)
  return Array.isArray(value) ? 'an array' : `a value of type ${typeof value}`
}

export function checkRange(into: Violations, field: string, value: unknown, range: Range): void {
  if (
    typeof value === 'number' &&
    Number.isInteger(value) &&
    value >= range.min &&
    value <= range.max
  ) {
    return
  }
  into.push({
    field,
    given: describeGiven(value),
    allowed: `a whole number, ${describeRange(range)}`,
  })
}

export function checkLength(into: Violations, field: string, value: unknown, range: Range): void {
  if (typeof value === 'string' && value.length >= range.min && value.length <= range.max) return
  into.push({ field, given: describeGiven(value), allowed: `a string of ${describeRange(range)}` })
}

/** Text that every store keeps as it is: others would make one text of two. */
export function checkText(into: Violations, field: string, value: unknown, range: Range): void {
  checkLength(into, field, value, range)
  if (typeof value !== 'string' || (value.isWellFormed() && !value.includes('\0'))) return
  const allowed = 'text without NUL characters or lone surrogates'
  into.push({ field, given: 'text with such characters', allowed })
}

/** A number that need not be whole. */
export function checkNumber(
  into: Violations,
  field: string,
  value: unknown,
  { min, max }: Pick<Range, 'min' | 'max'>,
): void {
  if (typeof value === 'number' && value >= min && value <= max) return
  into.push({ field, given: describeGiven(value), allowed: `a number, ${min} to ${max}` })
}

export function checkOneOf(
  into: Violations,
  field: string,
  value: unknown,
  choices: readonly unknown[],
): void {
  if (choices.includes(value)) return
  into.push({ field, given: describeGiven(value), allowed: `one of ${choices.join(', ')}` })
}

/** Whether the value is a record of strings; adds what is wrong with it. */
export function checkStringRecord(
  into: Violations,
  field: string,
  value: unknown,
): value is Readonly<Record<string, string>> {
  const isRecord = typeof value === 'object' && value !== null && !Array.isArray(value)
  if (isRecord && Object.values(value).every((entry) => typeof entry === 'string')) return true
  into.push({ field, given: describeGiven(value), allowed: 'an object whose values are strings' })
  return false
}
