import { MillraceError } from './millrace-error.ts'

/** The same refusal, with the names that its fields have for the caller. A path keeps its front: `jobs[2].delay`. */
export function renameFields(
  error: MillraceError,
  names: ReadonlyMap<string, string>,
): MillraceError {
  const { code, violations } = error
  const renamed = violations.map((one) => ({ ...one, field: renamedField(one.field, names) }))
  const isSame = renamed.every(({ field }, index) => field === violations[index]?.field)
  return isSame ? error : MillraceError.invalid(renamed, code)
}

function renamedField(field: string, names: ReadonlyMap<string, string>): string {
  // Inside a body, names are those of its sender. The checks of a contract call it the message.
  if (/^message[.[]/.test(field)) return field
  if (field.startsWith('body.'))
    return `${names.get('body') ?? 'body'}${field.slice('body'.length)}`
  const start = field.lastIndexOf('.') + 1
  const name = names.get(field) ?? names.get(field.slice(start))
  return name === undefined ? field : `${names.has(field) ? '' : field.slice(0, start)}${name}`
}

/** What a call of the port threw, with the names that the caller knows. */
export function inCallerNames(error: unknown, names: ReadonlyMap<string, string>): unknown {
  return error instanceof MillraceError ? renameFields(error, names) : error
}
