/** Reads when a job is to be due. Checks its form; the app checks the time. */
import type { Violations } from '../../core/checks.ts'
import type { DueOptions } from '../../core/due-options.ts'
import type { Duration } from '../../core/durations.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import { type FieldKinds, readFields } from './read-fields.ts'
import { readTime } from './read-time.ts'

export const dueFields: FieldKinds = { delay: 'text', run_at: 'text' }

/** The fields, after `readFields` has checked their types. */
export interface DueFields {
  readonly delay?: Duration
  readonly run_at?: string
}

export function readReschedule(body: unknown): DueOptions {
  return dueFrom(readFields(body, dueFields))
}

export function dueFrom({ delay, run_at }: DueFields): DueOptions {
  const violations: Violations = []
  const runAt = run_at === undefined ? undefined : readTime(violations, 'run_at', run_at)
  if (violations.length > 0) throw MillraceError.invalid(violations)
  return { ...(delay !== undefined && { delay }), ...(runAt !== undefined && { runAt }) }
}
