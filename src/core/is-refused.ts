import type { ErrorCode } from './error-codes.ts'
import { MillraceError } from './millrace-error.ts'

/** Whether an error is the refusal of that code, for callers who know what to do about it. */
export function isRefused(error: unknown, code: ErrorCode): error is MillraceError {
  return error instanceof MillraceError && error.code === code
}
