/** The data that stages pass to each other. It does not depend on queues, stores or HTTP. */

/** A paragraph, a list item or a table row, as it is in the file. */
export interface RawAtom {
  /** Starts at 1. */
  readonly page: number
  readonly text: string
  readonly kind: AtomKind
  /** The level of a heading, 1 to 6, if the file has one. */
  readonly level?: number
  /** The font size, if the file has no other sign of headings. */
  readonly size?: number
}

export type AtomKind = 'heading' | 'paragraph' | 'list_item' | 'table_row'

export interface Atom {
  /** Its position in the document, from 0. */
  readonly index: number
  readonly page: number
  readonly kind: AtomKind
  readonly text: string
  /** The section of the atom. A heading belongs to the section that it opens. */
  readonly section: number
}

export interface Section {
  readonly index: number
  /** Null for top-level sections. */
  readonly parent: number | null
  /** 0 for text before the first heading. */
  readonly level: number
  readonly title: string
  readonly page: number
}

export interface StructuredDocument {
  readonly sections: readonly Section[]
  readonly atoms: readonly Atom[]
}

/** The input of one extract job: consecutive atoms. */
export interface Unit {
  /** Such as `unit-0001`. */
  readonly id: string
  readonly index: number
  /** The headings above the first atom, outermost first. */
  readonly path: readonly string[]
  readonly atoms: readonly Atom[]
}

export interface PageImage {
  readonly page: number
  readonly png: Uint8Array
  readonly width: number
  readonly height: number
}

/** A search result: a few atoms that belong together. */
export interface Chunk {
  /** Its position in the unit, from 0. */
  readonly ordinal: number
  readonly section: number
  readonly title: string
  readonly content: string
  /** SHA-256 of the content, to detect outdated embeddings. It need not be unique. */
  readonly contentHash: string
  readonly pageFrom: number
  readonly pageTo: number
  /** 0 to 1. */
  readonly confidence: number
}
