/** Reads a failure that another program reports, in the form of an error that a handler has thrown. */
import { isRecord } from '../contracts/setting-checks.ts'
import { checkText, describeGiven, type Violations } from '../core/checks.ts'
import { type Duration, durationMs } from '../core/durations.ts'
import { limits } from '../core/limits.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { type OptionNames, refuseUnknownOptions } from '../core/options.ts'
import type { AttemptEnd } from './attempt-end.ts'
import type { SpendingReport } from './reported-spending.ts'

export interface FailureReport extends SpendingReport {
  readonly error: ReportedError
  /**
   * `false` fails the job now. A delay replaces the wait of the backoff. Default: true, with the wait of the
   * backoff.
   */
  readonly retry?: boolean | RetryDelay
}

export interface ReportedError {
  readonly message: string
  /** The kind of error, such as `ValueError`. */
  readonly name?: string
  readonly stack?: string
}

export interface RetryDelay {
  readonly delay: Duration
}

const failureFields: OptionNames<FailureReport> = {
  receipt: true,
  error: true,
  retry: true,
  spent: true,
}
const errorFields: OptionNames<ReportedError> = { message: true, name: true, stack: true }
const retryFields: OptionNames<RetryDelay> = { delay: true }

export function failedEnd(report: FailureReport): AttemptEnd {
  refuseUnknownOptions(report, failureFields)
  const error = thrownError(report.error)
  const { retry = true } = report
  if (retry === true) return { how: 'threw', error }
  if (retry === false) return { how: 'threw', error, retry }
  return { how: 'threw', error, retry: { delayMs: delayOf(retry) } }
}

/** Longer than any error that helps. The store keeps less of it. */
const textLength = { min: 0, max: 65_536, unit: 'characters' } as const

function thrownError(reported: ReportedError): Error {
  if (!isRecord(reported)) throw refused('error', reported, 'an object with a message')
  refuseUnknownOptions(reported, errorFields, 'error.')
  const { message, name = 'Error', stack = `${name}: ${message}` } = reported
  const violations: Violations = []
  checkText(violations, 'error.message', message, textLength)
  checkText(violations, 'error.name', name, textLength)
  checkText(violations, 'error.stack', stack, textLength)
  if (violations.length > 0) throw MillraceError.invalid(violations)
  return Object.assign(new Error(message), { name, stack })
}

function delayOf(retry: RetryDelay): number {
  if (!isRecord(retry)) {
    throw refused('retry', retry, 'true, false, or an object with a delay')
  }
  refuseUnknownOptions(retry, retryFields, 'retry.')
  return durationMs(retry.delay, 'retry.delay', limits.visibilityMs)
}

function refused(field: string, value: unknown, allowed: string): MillraceError {
  return MillraceError.invalid([{ field, given: describeGiven(value), allowed }])
}
