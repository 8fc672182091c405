/**
 * Groups atoms by rules alone: a chunk stays within its section, a list stays with the sentence that
 * introduces it, a table with its rows, and none grows much beyond a screenful.
 */
import type { Atom, Unit } from '../stages/document-model.ts'
import { type Extractor, type Grouping, noUsage } from './extractor.ts'

const chunkChars = 900
/** Rules read less well than a model does. */
const confidence = 0.75
/** Of groups that are cut because they are full, and not where the author ended something. */
const cutConfidence = 0.6

export const offlineExtractor: Extractor = {
  extract: async (unit) => ({ groupings: groupAtoms(unit), model: 'offline', usage: noUsage }),
}

export function groupAtoms({ atoms, path }: Unit): readonly Grouping[] {
  const groups: Atom[][] = []
  for (const atom of atoms) {
    const group = groups.at(-1)
    if (group && belongs(atom, group)) group.push(atom)
    else groups.push([atom])
  }
  return groups.map((group, index) => {
    const heading = group.findLast(({ kind }) => kind === 'heading')?.text
    const next = groups[index + 1]?.[0]
    const isCut = next !== undefined && next.kind !== 'heading' && next.section === sectionOf(group)
    return {
      atoms: group.map((atom) => atom.index),
      title: heading ?? path.at(-1) ?? '',
      confidence: isCut ? cutConfidence : confidence,
    }
  })
}

function belongs(atom: Atom, group: readonly Atom[]): boolean {
  const isOnlyHeadings = group.every(({ kind }) => kind === 'heading')
  // Headings go with what follows them, however many there are.
  if (isOnlyHeadings) return true
  if (atom.kind === 'heading' || atom.section !== sectionOf(group)) return false
  const chars = group.reduce((sum, { text }) => sum + text.length, 0)
  const previous = group.at(-1)
  const isListed = atom.kind === 'list_item' || atom.kind === 'table_row'
  const goesOn = isListed && (previous?.kind === atom.kind || previous?.text.endsWith(':') === true)
  return chars + atom.text.length <= (goesOn ? 2 * chunkChars : chunkChars)
}

function sectionOf(group: readonly Atom[]): number | undefined {
  return group.at(-1)?.section
}
