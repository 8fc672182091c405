/**
 * UNITS: divides a document into parts that one model call can group, at headings if possible. A document has at
 * most 1,000 units, so that they can be enqueued in one commit. A very long document gets larger units.
 */
import type { Atom, StructuredDocument, Unit } from './document-model.ts'
import { sectionPath } from './run-structure.ts'

export const unitsMax = 1_000
const unitChars = 6_000

export function runUnits(document: StructuredDocument): readonly Unit[] {
  for (let chars = unitChars; ; chars *= 2) {
    const groups = groupsOf(document.atoms, chars)
    if (groups.length > unitsMax) continue
    return groups.map((atoms, index) => ({
      id: unitId(index),
      index,
      path: sectionPath(document.sections, atoms[0]?.section ?? 0),
      atoms,
    }))
  }
}

/** Such as `unit-0001`. */
export function unitId(index: number): string {
  return `unit-${String(index + 1).padStart(4, '0')}`
}

function groupsOf(atoms: readonly Atom[], chars: number): readonly (readonly Atom[])[] {
  const groups: Atom[][] = []
  let filled = 0
  for (const atom of atoms) {
    const isFull = filled + atom.text.length > chars
    // A heading starts a new unit if the current one is long enough.
    const isTurn = atom.kind === 'heading' && filled > chars / 2
    const group = groups.at(-1)
    if (group === undefined || isFull || isTurn) {
      groups.push([atom])
      filled = 0
    } else {
      group.push(atom)
    }
    filled += atom.text.length
  }
  return groups
}
