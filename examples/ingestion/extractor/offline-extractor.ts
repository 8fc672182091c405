/**
 * Groups atoms by rules: a chunk stays within its section, a list stays with the sentence before it, a table
 * stays with its rows, and no chunk is much longer than a screen.
 */
import type { Atom, Unit } from '../stages/document-model.ts'
import { type Extractor, type Grouping, noUsage } from './extractor.ts'

const chunkChars = 900
/** Rules are less accurate than a model. */
const confidence = 0.75
/** For groups that were cut because they were full, not at a natural end. */
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
  // Headings stay with the text that follows them.
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
