/**
 * The options of calls and declarations. A name that is not an option is refused, also from plain JavaScript: an
 * option that is silently ignored is a wrong option.
 */
import { describeGiven, type Violations } from './checks.ts'
import { didYouMean } from './did-you-mean.ts'
import { MillraceError } from './millrace-error.ts'

/** Every option of a call, by name. The type asks for each of them, so the list cannot fall behind. */
export type OptionNames<Options> = { readonly [Name in keyof Required<Options>]: true }

/** Of a call that reads a list page by page. */
export const pageOptions: OptionNames<{ limit: number; after: string }> = {
  limit: true,
  after: true,
}

/** Throws `invalid_argument` if an option is unknown. `prefix` leads to the options, such as `jobs[2].`. */
export function refuseUnknownOptions(
  given: object,
  known: Readonly<Record<string, true>>,
  prefix = '',
): void {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    const field = prefix.replace(/\.$/, '') || 'options'
    const allowed = 'an object of options'
    throw MillraceError.invalid([{ field, given: describeGiven(given), allowed }])
  }
  for (const name in given) {
    if (!Object.hasOwn(known, name)) throw unknownOptions(given, Object.keys(known), prefix)
  }
}

function unknownOptions(given: object, known: readonly string[], prefix: string): MillraceError {
  const violations: Violations = []
  for (const name of Object.keys(given).filter((one) => !known.includes(one))) {
    violations.push(unknownOption(`${prefix}${name}`, name, known))
  }
  return MillraceError.invalid(violations)
}

export function unknownOption(
  field: string,
  name: string,
  known: readonly string[],
): Violations[number] {
  const allowed = `one of ${known.join(', ')}${didYouMean(name, known)}`
  return { field, given: 'an unknown option', allowed }
}
