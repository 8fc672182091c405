import { MillraceError } from './millrace-error.ts'

/** The same refusal, with the names that its fields have for the caller. */
export function renameFields(
  error: MillraceError,
  names: ReadonlyMap<string, string>,
): MillraceError {
  const { code, violations } = error
  if (!violations.some(({ field }) => names.has(field))) return error
  const renamed = violations.map((one) => ({ ...one, field: names.get(one.field) ?? one.field }))
  return MillraceError.invalid(renamed, code)
}
