/** A message as it is handed in, the same for every backend and surface. */
export interface NewMessage {
  readonly body: string
  readonly attributes?: Readonly<Record<string, MessageAttribute>>
  /** Kept beside the message for surfaces: sender, trace context. */
  readonly systemAttributes?: Readonly<Record<string, string>>
  /** Overrides the delay of a standard queue. */
  readonly delayMs?: number
  /**
   * The time from which it can be received, instead of a delay; in milliseconds since 1970, by the clock of
   * the store. A time in the past means at once.
   */
  readonly runAt?: number
  /** Required on FIFO queues; the tenant on standard queues. */
  readonly group?: string
  readonly deduplicationId?: string
  /** Set if the body is sealed. */
  readonly sealed?: SealedContent
}

/** What a store must know about content that it cannot read. */
export interface SealedContent {
  /** The size of the content in the clear, which counts towards limits. */
  readonly bytes: number
  /** By which equal contents are recognised: one per key that may be in use. The first is stored. */
  readonly fingerprints: readonly string[]
}

export interface MessageAttribute {
  /** `String`, `Number` or `Binary`, optionally with a custom suffix: `Number.float`. */
  readonly type: string
  readonly value: string | Uint8Array
}

/** The states of a message. One that was acknowledged, has expired, was purged or moved is gone. */
export type MessageState = 'ready' | 'leased' | 'delayed'
