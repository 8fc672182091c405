import { MillraceError } from './millrace-error.ts'

/** A part of a backend, which not every backend has; throws `unsupported` where it is missing. */
export function supported<Part>(part: Part | null): Part {
  if (part === null) throw new MillraceError('unsupported')
  return part
}
