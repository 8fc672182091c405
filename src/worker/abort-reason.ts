/** Why a handler should stop: the `reason` of its signal. */
export type AbortKind = 'timeout' | 'cancelled' | 'shutdown' | 'lease_lost'

const texts: Readonly<Record<AbortKind, string>> = {
  timeout: 'The handler exceeded its timeout.',
  cancelled: 'The job was cancelled.',
  shutdown: 'The worker is stopping.',
  lease_lost: 'The lease was lost: another worker may be handling the same message.',
}

export class AbortReason extends Error {
  override readonly name = 'AbortReason'
  readonly kind: AbortKind

  constructor(kind: AbortKind) {
    super(texts[kind])
    this.kind = kind
  }
}
