/** Checks of what is kept of an attempt: its failure, and the lines that its handler has logged. */
import {
  checkLength,
  checkOneOf,
  checkRange,
  describeGiven,
  type Violations,
} from '../core/checks.ts'
import type { Failure } from '../core/failure.ts'
import { limits } from '../core/limits.ts'
import { type LogLine, logLevels } from '../core/log-line.ts'

export function checkFailure(into: Violations, field: string, failure: Failure): void {
  // Plain JavaScript may have put anything there.
  const { name, message, stack, causes }: Partial<Failure> = Object(failure)
  for (const [part, text] of Object.entries({ name, message, stack })) {
    if (typeof text === 'string') continue
    into.push({ field: `${field}.${part}`, given: describeGiven(text), allowed: 'a string' })
  }
  if (!Array.isArray(causes)) {
    into.push({ field: `${field}.causes`, given: describeGiven(causes), allowed: 'an array' })
  }
  checkLength(into, field, JSON.stringify(failure), limits.failureLength)
}

export function checkLogs(into: Violations, field: string, lines: readonly LogLine[]): void {
  if (!Array.isArray(lines)) {
    into.push({ field, given: describeGiven(lines), allowed: 'an array of lines' })
    return
  }
  checkRange(into, `${field}: count`, lines.length, limits.logLines)
  for (const [index, line] of lines.entries()) {
    const { at, level, message }: Partial<LogLine> = Object(line)
    const given = `${field}[${index}]`
    checkOneOf(into, `${given}.level`, level, logLevels)
    if (typeof message !== 'string') {
      into.push({ field: `${given}.message`, given: describeGiven(message), allowed: 'a string' })
    }
    if (!Number.isSafeInteger(at)) {
      const allowed = 'milliseconds since 1970'
      into.push({ field: `${given}.at`, given: describeGiven(at), allowed })
    }
  }
  checkLength(into, field, JSON.stringify(lines), limits.logLength)
}
