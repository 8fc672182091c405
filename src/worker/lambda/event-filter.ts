/**
 * Which messages an event source hands to its function. Patterns look at the record that the function
 * would be given; a body is looked into when it is JSON, and a pattern that expects the other form of
 * body matches nothing, as on AWS.
 */
import type { Violations } from '../../core/checks.ts'
import { compilePattern, type Matches } from './filter-pattern.ts'
import type { SqsRecord } from './sqs-event.ts'

export type EventFilter = (record: SqsRecord) => boolean

/** What is wrong with the patterns is added to `into`. Without patterns everything passes. */
export function compileFilters(
  into: Violations,
  field: string,
  patterns: readonly unknown[],
): EventFilter {
  if (patterns.length === 0) return () => true
  const matching: readonly Matches[] = patterns.map((pattern, index) =>
    compilePattern({ into, field: `${field}[${index}]` }, pattern, ['body']),
  )
  return (record) => {
    const seen = { ...record, body: readBody(record.body) }
    return matching.some((matches) => matches(seen))
  }
}

/** Objects and lists count as JSON; a lone number or word is text, whatever else it could be. */
function readBody(body: string): unknown {
  if (!/^\s*[[{]/.test(body)) return body
  try {
    return JSON.parse(body)
  } catch {
    return body
  }
}
