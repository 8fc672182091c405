/** What the stages hand to each other. Nothing here knows of queues, stores or HTTP. */

/** A paragraph, a line of a list or a row of a table, as a file has it. */
export interface RawAtom {
  /** 1 for the first. */
  readonly page: number
  readonly text: string
  readonly kind: AtomKind
  /** Of a heading, 1 to 6, where the file says so itself. */
  readonly level?: number
  /** Height of the letters, where that is all a file says about headings. */
  readonly size?: number
}

export type AtomKind = 'heading' | 'paragraph' | 'list_item' | 'table_row'

export interface Atom {
  /** Its place in the document, from 0. */
  readonly index: number
  readonly page: number
  readonly kind: AtomKind
  readonly text: string
  /** The section that it belongs to; a heading belongs to the one that it opens. */
  readonly section: number
}

export interface Section {
  readonly index: number
  /** Null for the outermost ones. */
  readonly parent: number | null
  /** 0 for what comes before the first heading. */
  readonly level: number
  readonly title: string
  readonly page: number
}

export interface StructuredDocument {
  readonly sections: readonly Section[]
  readonly atoms: readonly Atom[]
}

/** What one extract job works on: atoms that follow each other. */
export interface Unit {
  /** Such as `unit-0001`. */
  readonly id: string
  readonly index: number
  /** The headings that the first atom stands under, outermost first. */
  readonly path: readonly string[]
  readonly atoms: readonly Atom[]
}

export interface PageImage {
  readonly page: number
  readonly png: Uint8Array
  readonly width: number
  readonly height: number
}

/** What search finds: a few atoms that belong together. */
export interface Chunk {
  /** Its place in its unit, from 0. */
  readonly ordinal: number
  readonly section: number
  readonly title: string
  readonly content: string
  /** SHA-256 of the content: tells when an embedding is out of date. It need not be unique. */
  readonly contentHash: string
  readonly pageFrom: number
  readonly pageTo: number
  /** 0 to 1. */
  readonly confidence: number
}
