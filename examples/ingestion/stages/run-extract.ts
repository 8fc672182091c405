/**
 * EXTRACT: turns one unit into chunks. The extractor decides which atoms belong together. The text of a chunk
 * always comes from the atoms, so no model can invent content.
 */
import { createHash } from 'node:crypto'
import type { Extraction, Extractor, Grouping } from '../extractor/extractor.ts'
import type { Atom, Chunk, Unit } from './document-model.ts'

export interface ExtractedUnit {
  readonly chunks: readonly Chunk[]
  readonly extraction: Extraction
}

/** For atoms that no grouping mentions. They are kept with a low confidence for review. */
const forgottenConfidence = 0.3

export async function runExtract(
  unit: Unit,
  extractor: Extractor,
  options: { readonly model: string; readonly signal?: AbortSignal },
): Promise<ExtractedUnit> {
  const extraction = await extractor.extract(unit, options)
  return { chunks: chunksOf(unit, extraction.groupings), extraction }
}

/** Puts every atom in exactly one chunk: that of the first grouping that mentions it. */
export function chunksOf(unit: Unit, groupings: readonly Grouping[]): readonly Chunk[] {
  const left = new Map(unit.atoms.map((atom) => [atom.index, atom]))
  const drafts: ChunkDraft[] = groupings.map(({ atoms, title, confidence }) => ({
    atoms: atoms.flatMap((index) => take(left, index)),
    title,
    confidence,
  }))
  for (const atoms of runsOf([...left.values()])) {
    drafts.push({ atoms, title: '', confidence: forgottenConfidence })
  }
  return drafts
    .filter(({ atoms }) => atoms.length > 0)
    .map((draft) => ({ ...draft, atoms: draft.atoms.toSorted((a, b) => a.index - b.index) }))
    .toSorted((a, b) => (a.atoms[0]?.index ?? 0) - (b.atoms[0]?.index ?? 0))
    .map(toChunk)
}

function take(left: Map<number, Atom>, index: number): readonly Atom[] {
  const atom = left.get(index)
  left.delete(index)
  return atom === undefined ? [] : [atom]
}

/** Splits atoms into runs without gaps. */
function runsOf(atoms: readonly Atom[]): readonly (readonly Atom[])[] {
  const runs: Atom[][] = []
  for (const atom of atoms) {
    const run = runs.at(-1)
    if (run?.at(-1)?.index === atom.index - 1) run.push(atom)
    else runs.push([atom])
  }
  return runs
}

interface ChunkDraft {
  readonly atoms: readonly Atom[]
  readonly title: string
  readonly confidence: number
}

function toChunk({ atoms, title, confidence }: ChunkDraft, ordinal: number): Chunk {
  const content = atoms.map(({ text }) => text).join('\n')
  const pages = atoms.map(({ page }) => page)
  return {
    ordinal,
    section: atoms.at(-1)?.section ?? 0,
    title: title || (atoms[0]?.text.slice(0, 80) ?? ''),
    content,
    contentHash: createHash('sha256').update(content).digest('hex'),
    pageFrom: Math.min(...pages),
    pageTo: Math.max(...pages),
    confidence,
  }
}
