/** Lays out text on A4 pages and draws them. */
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { createCanvas, GlobalFonts } from '@napi-rs/canvas'
import type { PageImage } from './document-model.ts'
import type { DocxBlock } from './docx-blocks.ts'

/** The part of a block on one page. */
export interface PlacedBlock {
  readonly block: DocxBlock
  /** It begins on an earlier page. */
  readonly isContinued: boolean
  readonly lines: readonly string[]
  readonly style: TextStyle
  /** The distance from the top of the page to the top of the first line. */
  readonly top: number
}

interface TextStyle {
  readonly size: number
  readonly isBold: boolean
  readonly indent: number
}

const page = { width: 892, height: 1_263, margin: 90 }
const bodySize = 16
const headingSizes = [28, 24, 21, 19, 17, 16]
const lineHeight = 1.4
const spaceAfter = 0.7
const family = 'Liberation Sans'

/** The fonts of pdf.js, so that pages look the same on every machine. */
const fonts = join(
  dirname(createRequire(import.meta.url).resolve('pdfjs-dist/package.json')),
  'standard_fonts',
)

/** At least one page, even without text. */
export function layOut(blocks: readonly DocxBlock[]): readonly (readonly PlacedBlock[])[] {
  const pages: PlacedBlock[][] = [[]]
  let top = page.margin
  const turn = (): void => {
    pages.push([])
    top = page.margin
  }
  const measure = lineMeasure()
  for (const block of blocks) {
    if (block.startsPage && pages.at(-1)?.length !== 0) turn()
    const style = styleOf(block)
    const step = style.size * lineHeight
    let lines = measure(block, style)
    for (let isContinued = false; lines.length > 0; isContinued = true) {
      if (roomBelow(top) < step) turn()
      const fitting = Math.floor(roomBelow(top) / step)
      const here = lines.slice(0, fitting)
      pages.at(-1)?.push({ block, isContinued, lines: here, style, top })
      top += here.length * step
      lines = lines.slice(fitting)
    }
    top += style.size * spaceAfter
  }
  return pages
}

export async function drawTextPage(
  blocks: readonly PlacedBlock[],
  number: number,
): Promise<PageImage> {
  const canvas = createCanvas(page.width, page.height)
  const context = canvas.getContext('2d')
  context.fillStyle = 'white'
  context.fillRect(0, 0, page.width, page.height)
  context.fillStyle = 'black'
  context.textBaseline = 'top'
  for (const { lines, style, top } of blocks) {
    context.font = fontOf(style)
    lines.forEach((line, index) => {
      context.fillText(line, page.margin + style.indent, top + index * style.size * lineHeight)
    })
  }
  const png = await canvas.encode('png')
  return { page: number, png, width: page.width, height: page.height }
}

function roomBelow(top: number): number {
  return page.height - page.margin - top
}

function styleOf({ kind, level = 1 }: DocxBlock): TextStyle {
  if (kind === 'heading') {
    return { size: headingSizes[level - 1] ?? bodySize, isBold: true, indent: 0 }
  }
  return { size: bodySize, isBold: false, indent: kind === 'list_item' ? 2 * bodySize : 0 }
}

function fontOf({ size, isBold }: TextStyle): string {
  return `${isBold ? 'bold ' : ''}${size}px '${family}'`
}

/** Breaks text into lines. A word that is wider than a line gets its own line. */
function lineMeasure(): (block: DocxBlock, style: TextStyle) => readonly string[] {
  registerFonts()
  const context = createCanvas(1, 1).getContext('2d')
  return ({ kind, text }, style) => {
    context.font = fontOf(style)
    const room = page.width - 2 * page.margin - style.indent
    const lines: string[] = []
    let line = kind === 'list_item' ? '•' : ''
    for (const word of text.split(' ')) {
      const longer = line === '' ? word : `${line} ${word}`
      if (line !== '' && context.measureText(longer).width > room) {
        lines.push(line)
        line = word
      } else {
        line = longer
      }
    }
    return [...lines, line]
  }
}

function registerFonts(): void {
  if (GlobalFonts.has(family)) return
  for (const face of ['Regular', 'Bold']) {
    GlobalFonts.registerFromPath(join(fonts, `LiberationSans-${face}.ttf`), family)
  }
}
