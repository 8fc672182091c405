/** Runs checks and turns what they refuse into one error that names it all. */
import { describeGiven, type Violations } from '../core/checks.ts'
import { limits } from '../core/limits.ts'
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

/** Whether a call may have so many entries. */
export function isCount(items: readonly unknown[]): boolean {
  const { min, max } = limits.messagesPerCall
  return Array.isArray(items) && items.length >= min && items.length <= max
}

export function checkCount(into: Violations, field: string, items: readonly unknown[]): void {
  const { min, max } = limits.messagesPerCall
  if (isCount(items)) return
  into.push({
    field,
    given: Array.isArray(items) ? `${items.length} entries` : describeGiven(items),
    allowed: `${min} to ${max} entries`,
  })
}
