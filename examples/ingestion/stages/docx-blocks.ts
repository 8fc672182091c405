/** Converts mammoth's document tree to blocks in reading order. */
import type { AtomKind } from './document-model.ts'

export interface DocxBlock {
  readonly kind: AtomKind
  readonly text: string
  /** The level of a heading. */
  readonly level?: number
  readonly startsPage: boolean
}

interface Node {
  readonly type?: unknown
  readonly value?: unknown
  readonly children?: readonly unknown[]
  readonly styleId?: unknown
  readonly styleName?: unknown
  readonly numbering?: unknown
  readonly breakType?: unknown
}

export function docxBlocks(document: unknown): readonly DocxBlock[] {
  const blocks: DocxBlock[] = []
  // A page break before empty paragraphs applies to the next block with text.
  let breaks = false
  const visit = (node: Node): void => {
    if (node.type === 'paragraph' || node.type === 'tableRow') {
      breaks ||= hasPageBreak(node)
      const text = node.type === 'tableRow' ? rowText(node) : textOf(node)
      if (text === '') return
      blocks.push({ ...kindOf(node), text, startsPage: breaks })
      breaks = false
    } else {
      for (const child of childrenOf(node)) visit(child)
    }
  }
  visit(nodeOf(document))
  return blocks
}

function kindOf(node: Node): Pick<DocxBlock, 'kind' | 'level'> {
  if (node.type === 'tableRow') return { kind: 'table_row' }
  // Word writes the same style id in every language. Other programs may only write the name.
  const style = `${node.styleId ?? ''} ${node.styleName ?? ''}`
  const [, level] = /\bheading ?([1-6])\b/i.exec(style) ?? []
  if (level !== undefined) return { kind: 'heading', level: Number(level) }
  if (/\btitle\b/i.test(style)) return { kind: 'heading', level: 1 }
  return { kind: node.numbering == null ? 'paragraph' : 'list_item' }
}

function rowText(row: Node): string {
  return childrenOf(row)
    .map((cell) => childrenOf(cell).map(textOf).join(' ').trim())
    .join(' | ')
    .replace(/^[\s|]+$/, '')
}

function textOf(node: Node): string {
  return rawText(node).replaceAll(/\s+/g, ' ').trim()
}

function rawText(node: Node): string {
  if (node.type === 'text') return String(node.value ?? '')
  if (node.type === 'tab' || node.type === 'break') return ' '
  const separator = node.type === 'tableCell' || node.type === 'tableRow' ? ' ' : ''
  return childrenOf(node).map(rawText).join(separator)
}

function hasPageBreak(node: Node): boolean {
  if (node.type === 'break') return node.breakType === 'page'
  return childrenOf(node).some(hasPageBreak)
}

function childrenOf(node: Node): readonly Node[] {
  return Array.isArray(node.children) ? node.children.map(nodeOf) : []
}

function nodeOf(value: unknown): Node {
  return typeof value === 'object' && value !== null ? value : {}
}
