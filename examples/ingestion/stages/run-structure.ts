/**
 * STRUCTURE: finds headings, and the section of each atom. A DOCX declares its headings. In a PDF, a heading is
 * text that is larger than most of the text.
 */
import type { Atom, RawAtom, Section, StructuredDocument } from './document-model.ts'

/** A heading is at least this much larger than body text. */
const headingRatio = 1.15
const headingCharsMax = 200
const levelMax = 6

export function runStructure(raw: readonly RawAtom[]): StructuredDocument {
  const levelOf = headingLevels(raw)
  const sections: Section[] = []
  const atoms = raw.map((atom, index): Atom => {
    const level = levelOf(atom)
    const { page, text } = atom
    if (level !== undefined || sections.length === 0) {
      sections.push({
        index: sections.length,
        parent: level === undefined ? null : parentOf(sections, level),
        level: level ?? 0,
        title: level === undefined ? '' : text,
        page,
      })
    }
    const kind = level === undefined ? plain(atom.kind) : 'heading'
    return { index, page, kind, text, section: sections.length - 1 }
  })
  return { sections, atoms }
}

/** Titles from the outermost section to this one. */
export function sectionPath(sections: readonly Section[], index: number): readonly string[] {
  const titles: string[] = []
  for (let at = sections[index]; at !== undefined; ) {
    if (at.title !== '') titles.unshift(at.title)
    at = at.parent === null ? undefined : sections[at.parent]
  }
  return titles
}

/** The nearest earlier section with a lower level. */
function parentOf(sections: readonly Section[], level: number): number | null {
  const parent = sections.findLast((section) => section.level > 0 && section.level < level)
  return parent?.index ?? null
}

function headingLevels(raw: readonly RawAtom[]): (atom: RawAtom) => number | undefined {
  const body = bodySize(raw)
  const isLarge = ({ size = 0, text }: RawAtom): boolean =>
    body > 0 && size >= body * headingRatio && text.length <= headingCharsMax
  const sizes = [...new Set(raw.filter(isLarge).map(({ size = 0 }) => Math.round(size)))]
  sizes.sort((a, b) => b - a)
  return (atom) => {
    if (atom.kind === 'heading') return Math.min(atom.level ?? 1, levelMax)
    if (!isLarge(atom)) return undefined
    return Math.min(sizes.indexOf(Math.round(atom.size ?? 0)) + 1, levelMax)
  }
}

/** The size of most of the text; 0 if the file has no sizes. */
function bodySize(raw: readonly RawAtom[]): number {
  const chars = new Map<number, number>()
  for (const { size, text } of raw) {
    if (size === undefined) continue
    const rounded = Math.round(size * 2) / 2
    chars.set(rounded, (chars.get(rounded) ?? 0) + text.length)
  }
  const [most] = [...chars].sort(([, a], [, b]) => b - a)
  return most?.[0] ?? 0
}

function plain(kind: RawAtom['kind']): RawAtom['kind'] {
  return kind === 'heading' ? 'paragraph' : kind
}
