/** Reads times in requests. */
import { describeGiven, type Violations } from '../../core/checks.ts'

/** Dates and times, with a zone or in UTC. Numbers are rejected, because their unit is ambiguous. */
const timePattern = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2}))?$/

export function readTime(into: Violations, field: string, text: string): Date {
  const time = new Date(timePattern.test(text) ? text : Number.NaN)
  if (!Number.isNaN(time.getTime())) return time
  into.push({ field, given: describeGiven(text), allowed: 'a time such as 2026-01-31T12:00:00Z' })
  return new Date(0)
}
