/**
 * Decides which messages an event source passes to its function. Patterns match the record that the function
 * would get. A JSON body is parsed. A pattern for the other form of body matches nothing, as on AWS.
 */
import type { Violations } from '../../core/checks.ts'
import { compilePattern, type Matches } from './filter-pattern.ts'
import type { SqsRecord } from './sqs-event.ts'

export type EventFilter = (record: SqsRecord) => boolean

/** Adds mistakes in the patterns to `into`. Without patterns, all messages pass. */
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

/** Only objects and arrays count as JSON. A lone number or word is text. */
function readBody(body: string): unknown {
  if (!/^\s*[[{]/.test(body)) return body
  try {
    return JSON.parse(body)
  } catch {
    return body
  }
}
