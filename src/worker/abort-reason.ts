/** Why a handler is asked to stop: the `reason` of its signal. */
export type AbortKind = 'timeout' | 'cancelled' | 'shutdown' | 'lease_lost'

const texts: Readonly<Record<AbortKind, string>> = {
  timeout: 'The handler took longer than it may.',
  cancelled: 'The job was cancelled.',
  shutdown: 'The worker is stopping.',
  lease_lost: 'The lease was lost: somebody else may be working on this.',
}

export class AbortReason extends Error {
  override readonly name = 'AbortReason'
  readonly kind: AbortKind

  constructor(kind: AbortKind) {
    super(texts[kind])
    this.kind = kind
  }
}
