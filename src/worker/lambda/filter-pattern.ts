/**
 * Event patterns as AWS writes them: all fields must match, and each has a list of values and rules of which
 * one must match. A pattern is compiled once. Mistakes in it are reported then, before any message.
 */
import { describeGiven } from '../../core/checks.ts'
import { compileRules, leavesOf, type PatternPlace } from './filter-rules.ts'

export type Matches = (value: unknown) => boolean

type Fields = Readonly<Record<string, unknown>>

/**
 * @param exact fields whose form must match the pattern: rules need a plain value, nested fields need an
 * object. Elsewhere, the other form counts as a missing field.
 */
export function compilePattern(
  { into, field }: PatternPlace,
  pattern: unknown,
  exact: readonly string[] = [],
): Matches {
  if (!isFields(pattern) || Object.keys(pattern).length === 0) {
    into.push({
      field,
      given: describeGiven(pattern),
      allowed: 'an object with at least one field',
    })
    return () => false
  }
  const parts = Object.entries(pattern).map(([key, rule]): Matches => {
    const place = { into, field: `${field}.${key}` }
    if (key === '$or' && isAlternatives(rule)) {
      const matching = rule.map((one) => compilePattern(place, one, exact))
      return (value) => matching.some((matches) => matches(value))
    }
    const matches = compileField(place, rule, exact.includes(key))
    return (value) => matches(memberOf(value, key))
  })
  return (value) => parts.every((matches) => matches(value))
}

function compileField(place: PatternPlace, rule: unknown, isExact: boolean): Matches {
  if (Array.isArray(rule)) {
    const matches = compileRules(place, rule)
    return (value) => !(isExact && isNested(value)) && matches(leavesOf(value))
  }
  if (isFields(rule)) {
    const matches = compilePattern(place, rule)
    return (value) => !(isExact && !isNested(value)) && objectsOf(value).some(matches)
  }
  const allowed = 'an array of values and rules, or an object with fields'
  place.into.push({ field: place.field, given: describeGiven(rule), allowed })
  return () => false
}

/** `$or` is an operator only before two or more objects. Otherwise it is the name of a field. */
function isAlternatives(rule: unknown): rule is readonly Fields[] {
  return Array.isArray(rule) && rule.length >= 2 && rule.every(isFields)
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isNested(value: unknown): boolean {
  return typeof value === 'object' && value !== null
}

function memberOf(value: unknown, key: string): unknown {
  return isFields(value) && Object.hasOwn(value, key) ? value[key] : undefined
}

/** All fields of a pattern must match in the same object of a list. */
function objectsOf(value: unknown): readonly Fields[] {
  if (isFields(value)) return [value]
  const found = Array.isArray(value) ? value.flat(Number.POSITIVE_INFINITY).filter(isFields) : []
  // An empty object, so that `exists: false` matches a missing field.
  return found.length > 0 ? found : [{}]
}
