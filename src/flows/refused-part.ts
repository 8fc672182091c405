import { MillraceError } from '../core/millrace-error.ts'

/** Adds the place in the request to the fields or the message of an error. */
export function refusedPart(error: unknown, place: string): unknown {
  if (!(error instanceof MillraceError)) return error
  const { code, violations, message } = error
  if (violations.length === 0) {
    return new MillraceError(code, { message: `${place}: ${message}`, cause: error })
  }
  const placed = violations.map((one) => ({ ...one, field: `${place}.${one.field}` }))
  return MillraceError.invalid(placed, code)
}
