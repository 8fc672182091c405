/**
 * The values and rules of a field in a filter pattern. A rule gets all plain values of a field, because a
 * list matches if one of its entries does.
 */
import { describeGiven, type Violations } from '../../core/checks.ts'

/** The path of a part of a pattern, and the list for its violations. */
export interface PatternPlace {
  readonly into: Violations
  readonly field: string
}

/** The plain values of a field; none if it is missing or an object. */
export type Leaves = readonly unknown[]

type LeavesMatch = (leaves: Leaves) => boolean
type LeafMatch = (leaf: unknown) => boolean

export function leavesOf(value: unknown): Leaves {
  const values = Array.isArray(value) ? value.flat(Number.POSITIVE_INFINITY) : [value]
  return values.filter(
    (one) => one === null || ['string', 'number', 'boolean'].includes(typeof one),
  )
}

export function compileRules(place: PatternPlace, rules: readonly unknown[]): LeavesMatch {
  if (rules.length === 0) refuse(place, rules, 'at least one value or rule')
  const matching = rules.map((rule, index) =>
    compileRule({ ...place, field: `${place.field}[${index}]` }, rule),
  )
  return (leaves) => matching.some((matches) => matches(leaves))
}

function compileRule(place: PatternPlace, rule: unknown): LeavesMatch {
  if (isPlain(rule)) return some((leaf) => leaf === rule)
  const single = singleEntry(rule)
  if (single === undefined) {
    return refuse(place, rule, 'a string, a number, true, false, null, or one rule')
  }
  const [name, operand] = single
  if (name === 'exists') return compileExists(place, operand)
  if (name === 'anything-but') return compileAnythingBut(place, operand)
  if (name === 'numeric') return some(compileNumeric(place, operand))
  const matches = compileText(name, operand)
  return matches === undefined ? refuse(place, rule, knownRules) : some(matches)
}

const knownRules =
  'prefix, suffix, equals-ignore-case, anything-but, numeric or exists, with an operand'

function compileExists(place: PatternPlace, operand: unknown): LeavesMatch {
  if (typeof operand !== 'boolean') return refuse(place, operand, 'exists: true or false')
  return (leaves) => leaves.length > 0 === operand
}

/** A missing field does not match "anything-but": there must be a value. */
function compileAnythingBut(place: PatternPlace, operand: unknown): LeavesMatch {
  const values: readonly unknown[] = Array.isArray(operand) ? operand : [operand]
  if (isListOfOneType(values)) return some((leaf) => !values.includes(leaf))
  const single = singleEntry(operand)
  const matches = single === undefined ? undefined : compileText(...single)
  if (matches !== undefined) return some((leaf) => !matches(leaf))
  return refuse(
    place,
    operand,
    'anything-but: strings, numbers, { prefix }, { suffix } or { equals-ignore-case }',
  )
}

const folded = (text: string): string => text.toLowerCase()

/** Rules about text. Undefined if the rule does not exist, or not with this operand. */
function compileText(name: string, operand: unknown): LeafMatch | undefined {
  const inner = singleEntry(operand)
  const ignoresCase = inner?.[0] === 'equals-ignore-case' && name !== 'equals-ignore-case'
  const wanted = ignoresCase ? inner[1] : operand
  if (typeof wanted !== 'string') return undefined
  const isFolding = ignoresCase || name === 'equals-ignore-case'
  const text = isFolding ? folded(wanted) : wanted
  const compare = comparisons[name]
  if (compare === undefined) return undefined
  return (leaf) => typeof leaf === 'string' && compare(isFolding ? folded(leaf) : leaf, text)
}

const comparisons: Readonly<Record<string, (leaf: string, text: string) => boolean>> = {
  prefix: (leaf, text) => leaf.startsWith(text),
  suffix: (leaf, text) => leaf.endsWith(text),
  'equals-ignore-case': (leaf, text) => leaf === text,
}

const numberComparisons: Readonly<Record<string, (leaf: number, bound: number) => boolean>> = {
  '=': (leaf, bound) => leaf === bound,
  '<': (leaf, bound) => leaf < bound,
  '<=': (leaf, bound) => leaf <= bound,
  '>': (leaf, bound) => leaf > bound,
  '>=': (leaf, bound) => leaf >= bound,
}

/** One comparison, or a range: `[">", 0, "<=", 5]`. */
function compileNumeric(place: PatternPlace, operand: unknown): LeafMatch {
  const parts: readonly unknown[] = Array.isArray(operand) ? operand : []
  const bounds = [parts.slice(0, 2), parts.slice(2)].filter(({ length }) => length > 0)
  const compiled = bounds.map(([sign, bound]) => {
    const compare = typeof sign === 'string' ? numberComparisons[sign] : undefined
    if (compare === undefined || typeof bound !== 'number') return undefined
    return (leaf: number): boolean => compare(leaf, bound)
  })
  if (compiled.length === 0 || parts.length > 4 || compiled.includes(undefined)) {
    refuse(place, operand, 'numeric: one or two of = < <= > >=, each followed by a number')
  }
  return (leaf) =>
    typeof leaf === 'number' && compiled.every((compares) => compares?.(leaf) ?? false)
}

function some(matches: LeafMatch): LeavesMatch {
  return (leaves) => leaves.some(matches)
}

function isPlain(rule: unknown): boolean {
  return rule === null || ['string', 'number', 'boolean'].includes(typeof rule)
}

function isListOfOneType(values: readonly unknown[]): boolean {
  if (values.length === 0) return false
  return ['string', 'number'].some((type) => values.every((value) => typeof value === type))
}

function singleEntry(rule: unknown): readonly [name: string, operand: unknown] | undefined {
  if (typeof rule !== 'object' || rule === null || Array.isArray(rule)) return undefined
  const entries = Object.entries(rule)
  return entries.length === 1 ? entries[0] : undefined
}

function refuse({ into, field }: PatternPlace, given: unknown, allowed: string): LeavesMatch {
  const violations: Violations = into
  violations.push({ field, given: describeGiven(given), allowed })
  return () => false
}
