import { MillraceError, type Violation } from '../core/millrace-error.ts'

/**
 * Returns all results, or throws one error with the violations of all refused entries. An error of another
 * kind is thrown as it is.
 */
export function allOrThrow<Prepared>(
  prepared: readonly PromiseSettledResult<Prepared>[],
): readonly Prepared[] {
  const values: Prepared[] = []
  const violations: Violation[] = []
  for (const result of prepared) {
    if (result.status === 'fulfilled') {
      values.push(result.value)
    } else if (isInvalidMessage(result.reason)) {
      violations.push(...result.reason.violations)
    } else {
      throw result.reason
    }
  }
  if (violations.length > 0) throw MillraceError.invalid(violations, 'invalid_message')
  return values
}

function isInvalidMessage(error: unknown): error is MillraceError {
  return error instanceof MillraceError && error.code === 'invalid_message'
}
