/** Joins positioned pieces of text into paragraphs. */
import type { RawAtom } from './document-model.ts'

export interface TextPiece {
  readonly text: string
  readonly x: number
  /** The distance from the bottom of the page. */
  readonly y: number
  readonly width: number
  readonly size: number
}

interface Line {
  text: string
  readonly y: number
  end: number
  readonly size: number
}

/** As a multiple of the font size. */
const sameLine = 0.5
const wordGap = 0.2
const paragraphGap = 1.7
const sizeDifference = 0.1
/** Numbers alone in the top or bottom tenth of a page are page numbers. */
const margin = 0.1

export function paragraphsOf(
  pieces: readonly TextPiece[],
  { page, height }: { readonly page: number; readonly height: number },
): readonly RawAtom[] {
  const lines = linesOf(pieces).filter((line) => !isPageNumber(line, height))
  const paragraphs: { text: string; size: number; kind: RawAtom['kind'] }[] = []
  let previous: Line | undefined
  for (const line of lines) {
    const kind = kindOf(line.text)
    const paragraph = paragraphs.at(-1)
    if (paragraph && previous && kind !== 'list_item' && follows(line, previous)) {
      paragraph.text = joined(paragraph.text, line.text)
    } else {
      paragraphs.push({ text: line.text, size: line.size, kind })
    }
    previous = line
  }
  return paragraphs.map((paragraph) => ({ page, ...paragraph }))
}

/** In the order of the file, which is almost always the reading order. */
function linesOf(pieces: readonly TextPiece[]): readonly Line[] {
  const lines: Line[] = []
  for (const { text, x, y, width, size } of pieces) {
    if (text.trim() === '') continue
    const line = lines.at(-1)
    if (line && Math.abs(line.y - y) <= sameLine * size && x >= line.end - size) {
      line.text += x - line.end > wordGap * size ? ` ${text}` : text
      line.end = x + width
    } else {
      lines.push({ text, y, end: x + width, size })
    }
  }
  return lines.map((line) => ({ ...line, text: line.text.replaceAll(/\s+/g, ' ').trim() }))
}

function isPageNumber({ text, y }: Line, height: number): boolean {
  const isOutside = y < height * margin || y > height * (1 - margin)
  return isOutside && /^[-–\s]*\d{1,4}[-–\s]*$/.test(text)
}

function kindOf(text: string): RawAtom['kind'] {
  return /^(?:[-–•*▪]|\d{1,3}[.)]|[a-z]\))\s/.test(text) ? 'list_item' : 'paragraph'
}

function follows(line: Line, previous: Line): boolean {
  const isSameSize = Math.abs(line.size - previous.size) <= sizeDifference * previous.size
  const gap = previous.y - line.y
  return isSameSize && gap > 0 && gap <= paragraphGap * line.size
}

/** Joins a word that was hyphenated at the end of a line. */
function joined(text: string, next: string): string {
  const isDivided = /\p{Ll}-$/u.test(text) && /^\p{Ll}/u.test(next)
  return isDivided ? text.slice(0, -1) + next : `${text} ${next}`
}
