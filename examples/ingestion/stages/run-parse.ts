/** PARSE: all text of a document, in reading order. */
import { BadDocument } from './bad-document.ts'
import type { RawAtom } from './document-model.ts'
import { sentencesOf } from './sentences.ts'
import type { SourceDocument } from './source-document.ts'

/** Longer paragraphs are split between sentences, so that they fit into a unit. */
const atomCharsMax = 2_000

export async function runParse(source: SourceDocument): Promise<readonly RawAtom[]> {
  const atoms: RawAtom[] = []
  for (let page = 1; page <= source.pages; page += 1) {
    for (const atom of await source.read(page)) {
      for (const text of pieces(atom.text)) atoms.push({ ...atom, text })
    }
  }
  if (atoms.length === 0) throw new BadDocument('no_text')
  return atoms
}

function pieces(text: string): readonly string[] {
  if (text.length <= atomCharsMax) return [text]
  const parts: string[] = []
  for (const sentence of sentencesOf(text, atomCharsMax)) {
    const last = parts.at(-1)
    if (last !== undefined && last.length + sentence.length < atomCharsMax) {
      parts[parts.length - 1] = `${last} ${sentence}`
    } else {
      parts.push(sentence)
    }
  }
  return parts
}
