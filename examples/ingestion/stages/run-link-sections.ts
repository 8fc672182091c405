/**
 * LINK SECTIONS: units were grouped one by one, in no order; here their chunks get their place in the
 * document and the headings they stand under.
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
  /** In the document, from 0. */
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
