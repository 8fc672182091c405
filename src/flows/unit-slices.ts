/** Cuts units that come one by one into slices that the store takes in one commit each. */
import { checkKeys, isRecord } from '../contracts/setting-checks.ts'
import { checkText, describeGiven, type Violations } from '../core/checks.ts'
import { limits } from '../core/limits.ts'
import { MillraceError } from '../core/millrace-error.ts'
import type { UntypedOpening, UntypedUnit } from './flow-types.ts'

export interface UnitSlice {
  readonly units: readonly UntypedUnit[]
  /** How many came before. */
  readonly from: number
  /** No unit comes after these. */
  readonly isLast: boolean
}

/** At least one slice, which is empty when there are no units. */
export async function* unitSlices(
  units: UntypedOpening['units'],
  size: number = limits.messagesPerCall.max,
): AsyncGenerator<UnitSlice, void, undefined> {
  requireUnits(units)
  let slice: UntypedUnit[] = []
  let from = 0
  for await (const unit of units) {
    // One more has come, so the slice before it is not the last.
    if (slice.length === size) {
      yield { units: slice, from, isLast: false }
      from += slice.length
      slice = []
    }
    slice.push(unit)
  }
  yield { units: slice, from, isLast: true }
}

/** All units together, as many as one commit may have. */
export function unitsOfOneCommit(units: Iterable<UntypedUnit>): readonly UntypedUnit[] {
  requireUnits(units)
  const { max } = limits.messagesPerCall
  const taken: UntypedUnit[] = []
  for (const unit of units) {
    taken.push(unit)
    if (taken.length <= max) continue
    const given = `more than ${max}`
    const allowed = `at most ${max} with a completion; mill.flows takes any number`
    throw MillraceError.invalid([{ field: 'units', given, allowed }])
  }
  return taken
}

/** Units may come from plain JavaScript. A text can be iterated as well, and is none. */
function requireUnits(units: unknown): void {
  const isIterable =
    typeof units === 'object' &&
    units !== null &&
    (Symbol.iterator in units || Symbol.asyncIterator in units)
  if (isIterable) return
  const allowed = 'an array of units, or another iterable of them'
  throw MillraceError.invalid([{ field: 'units', given: describeGiven(units), allowed }])
}

const workKeys: readonly string[] = ['message', 'type', 'payload', 'options']
const unitKeys: readonly string[] = ['id', ...workKeys]

/** A unit that may be anything is held against what a unit looks like. */
export function checkedUnit(unit: unknown): { readonly id: string; readonly hasWork: boolean } {
  const violations: Violations = []
  const fields = isRecord(unit) ? unit : {}
  const { id } = fields
  checkText(violations, 'id', id, limits.flowIdLength)
  // A unit whose work stands under another name would wait for ever.
  checkKeys(violations, '', fields, unitKeys)
  if (violations.length > 0) throw MillraceError.invalid(violations)
  return { id: String(id), hasWork: workKeys.some((key) => key in fields) }
}
