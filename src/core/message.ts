/** A message as it is handed in, the same for every backend and surface. */
export interface NewMessage {
  readonly body: string
  readonly attributes?: Readonly<Record<string, MessageAttribute>>
  /** Kept beside the message for surfaces: sender, trace context. */
  readonly systemAttributes?: Readonly<Record<string, string>>
  /** Overrides the delay of a standard queue. */
  readonly delayMs?: number
  /** Required on FIFO queues; the tenant on standard queues. */
  readonly group?: string
  readonly deduplicationId?: string
}

export interface MessageAttribute {
  /** `String`, `Number` or `Binary`, optionally with a custom suffix: `Number.float`. */
  readonly type: string
  readonly value: string | Uint8Array
}

/** The states of a message. One that was acknowledged, has expired, was purged or moved is gone. */
export type MessageState = 'ready' | 'leased' | 'delayed'
