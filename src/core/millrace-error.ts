import { type ErrorCode, errorCodes } from './error-codes.ts'

/** One setting or argument that was refused: where, what was given, what is allowed. */
export interface Violation {
  readonly field: string
  /** A short description of what was given. Never a message body. */
  readonly given: string
  readonly allowed: string
}

export interface MillraceErrorOptions {
  readonly message?: string
  readonly violations?: readonly Violation[]
  readonly cause?: unknown
}

/** The one error type of Millrace. Surfaces map `code`, never the text. */
export class MillraceError extends Error {
  override readonly name = 'MillraceError'
  readonly code: ErrorCode
  /** Whether the same call may succeed later without being changed. */
  readonly retryable: boolean
  readonly violations: readonly Violation[]

  constructor(code: ErrorCode, options: MillraceErrorOptions = {}) {
    const entry = errorCodes[code]
    super(
      options.message ?? entry.message,
      options.cause === undefined ? undefined : { cause: options.cause },
    )
    this.code = code
    this.retryable = entry.retryable
    this.violations = options.violations ?? []
  }

  /** All refused fields together, so that a caller can fix them at once. */
  static invalid(
    violations: readonly Violation[],
    code: ErrorCode = 'invalid_argument',
  ): MillraceError {
    const lines = violations.map(
      ({ field, given, allowed }) => `${field}: got ${given}, expected ${allowed}`,
    )
    return new MillraceError(code, { message: lines.join('\n'), violations })
  }
}

/** The store cannot be used again by this process: there is nothing to try again. */
export function isStoreGone(error: unknown): error is MillraceError {
  return (
    error instanceof MillraceError &&
    (error.code === 'store_closed' || error.code === 'store_replaced')
  )
}

/** Whether an error is the refusal of that code, for callers who know what to do about it. */
export function isRefused(error: unknown, code: ErrorCode): error is MillraceError {
  return error instanceof MillraceError && error.code === code
}
