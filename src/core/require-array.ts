import { describeGiven } from './checks.ts'
import { MillraceError } from './millrace-error.ts'

/** For callers in plain JavaScript, and for a forgotten argument. */
export function requireArray(field: string, value: unknown): void {
  if (Array.isArray(value)) return
  throw MillraceError.invalid([{ field, given: describeGiven(value), allowed: 'an array' }])
}
