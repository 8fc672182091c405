/** Cuts a stream of units into slices, one per commit. */
import { checkKeys, isRecord } from '../contracts/setting-checks.ts'
import { checkText, describeGiven, type Violations } from '../core/checks.ts'
import { limits } from '../core/limits.ts'
import { MillraceError } from '../core/millrace-error.ts'
import type { UntypedOpening, UntypedUnit } from './flow-types.ts'

export interface UnitSlice {
  readonly units: readonly UntypedUnit[]
  /** How many units came before this slice. */
  readonly from: number
  /** Whether this is the last slice. */
  readonly isLast: boolean
}

/** Yields at least one slice, which is empty if there are no units. */
export async function* unitSlices(
  units: UntypedOpening['units'],
  size: number = limits.messagesPerCall.max,
): AsyncGenerator<UnitSlice, void, undefined> {
  requireUnits(units)
  let slice: UntypedUnit[] = []
  let from = 0
  for await (const unit of units) {
    // Another unit follows, so this slice is not the last.
    if (slice.length === size) {
      yield { units: slice, from, isLast: false }
      from += slice.length
      slice = []
    }
    slice.push(unit)
  }
  yield { units: slice, from, isLast: true }
}

/** All units in one list, if they fit into one commit. */
export function unitsOfOneCommit(units: Iterable<UntypedUnit>): readonly UntypedUnit[] {
  requireUnits(units)
  const { max } = limits.messagesPerCall
  const taken: UntypedUnit[] = []
  for (const unit of units) {
    taken.push(unit)
    if (taken.length <= max) continue
    const given = `more than ${max}`
    const allowed = `at most ${max} from a handler; mill.flows accepts any number`
    throw MillraceError.invalid([{ field: 'units', given, allowed }])
  }
  return taken
}

/** Units may come from plain JavaScript. A string is iterable too, but is not a list of units. */
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

/** Checks the shape of a unit. */
export function checkedUnit(unit: unknown): { readonly id: string; readonly hasWork: boolean } {
  const violations: Violations = []
  const fields = isRecord(unit) ? unit : {}
  const { id } = fields
  checkText(violations, 'id', id, limits.flowIdLength)
  // A unit whose work is under a misspelt name would wait forever.
  checkKeys(violations, '', fields, unitKeys)
  if (violations.length > 0) throw MillraceError.invalid(violations)
  return { id: String(id), hasWork: workKeys.some((key) => key in fields) }
}
