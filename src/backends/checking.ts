/** Runs checks and turns what they refuse into one error that names it all. */
import type { Violations } from '../core/checks.ts'
import { MillraceError } from '../core/millrace-error.ts'

export function check(run: (into: Violations) => void): void {
  const error = refusal(run)
  if (error !== undefined) throw error
}

export function refusal(run: (into: Violations) => void): MillraceError | undefined {
  const violations: Violations = []
  run(violations)
  return violations.length === 0 ? undefined : MillraceError.invalid(violations)
}
