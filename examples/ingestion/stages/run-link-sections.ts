/**
 * LINK SECTIONS: units were grouped separately and in any order. This gives their chunks a position in the
 * document and the headings above them.
 */
import type { Section } from './document-model.ts'
import { sectionPath } from './run-structure.ts'

export interface UnlinkedChunk {
  readonly id: number
  readonly unitIndex: number
  readonly ordinal: number
  readonly section: number
}

export interface ChunkLink {
  readonly id: number
  /** The position in the document, from 0. */
  readonly position: number
  /** Such as `Water mills > The wheel`. */
  readonly sectionPath: string
}

export function runLinkSections(
  sections: readonly Section[],
  chunks: readonly UnlinkedChunk[],
): readonly ChunkLink[] {
  return chunks
    .toSorted((a, b) => a.unitIndex - b.unitIndex || a.ordinal - b.ordinal)
    .map(({ id, section }, position) => ({
      id,
      position,
      sectionPath: sectionPath(sections, section).join(' > '),
    }))
}
