/**
 * Encryption keys: the part of a backend that records which keys its texts were sealed with, and rewrites them.
 * The keys themselves are never in the store.
 */
export interface KeyStore {
  /** The key that new texts are sealed with; null without encryption. */
  readonly sealing: string | null
  /** By id. */
  list(): Promise<readonly StoredKey[]>
  /** Records a key. Returns the one of this id that was recorded first. */
  add(request: NewKey): Promise<StoredKey>
  /** Forgets a key that seals nothing any more. */
  remove(request: KeyId): Promise<boolean>
  /** Rewrites one slice of all texts that hold content. Refused with `unsupported` without encryption. */
  rewrite(request: RewriteTexts): Promise<RewrittenTexts>
}

export interface KeyId {
  readonly id: string
}

export interface NewKey extends KeyId {
  /** By which the key is recognised, without revealing it. */
  readonly check: string
}

export interface StoredKey extends NewKey {
  readonly addedAt: number
}

/** `text`: content as a whole. `json`: an object that has content in some of its fields. */
export type ContentForm = 'text' | 'json'

export interface RewriteTexts {
  /** Where the slice before this one ended. */
  readonly after?: string
  /** How many texts to look at. */
  readonly limit: number
  /**
   * The text to store instead; undefined if it stays. It must not wait, and may run again. Default: seals with
   * the present key.
   */
  readonly rewrite?: (text: string, form: ContentForm) => string | undefined
}

export interface RewrittenTexts {
  readonly seen: number
  readonly rewritten: number
  /** Absent when all texts were seen. */
  readonly next?: string
}
