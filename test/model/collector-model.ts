/**
 * Collectors as plainly as they can be said: what was accepted, what was merged, and who may end which
 * batch. It knows nothing of triggers that are on their way; those are the engine's own affair.
 */
export interface ModelItem {
  readonly key: string
  readonly id: string
  /** Unlike its id it is never used again. */
  readonly body: string
  readonly order: number
  readonly arrival: number
  mergedAt: number | null
  /** The batch with which it was set aside, when that failed for good. */
  keptIn: ModelBatch | null
}

/** The right to settle a trigger. */
export interface ModelLease {
  readonly receipt: string
  readonly message: number
  readonly key: string
  expiresAt: number
  /** Settled, or its message is gone or was given to somebody else. */
  isOver: boolean
}

export interface ModelBatch {
  readonly lease: ModelLease
  readonly items: readonly ModelItem[]
}

export const leaseMs = 10_000
export const maxReceives = 3

export class CollectorModel {
  now: number
  readonly rememberMs: number
  readonly items: ModelItem[] = []
  readonly leases: ModelLease[] = []
  /** By key: the latest that was begun and has not ended. */
  readonly batches = new Map<string, ModelBatch>()

  constructor(now: number, rememberMs: number) {
    this.now = now
    this.rememberMs = rememberMs
  }

  isDuplicate(key: string, id: string): boolean {
    return this.items.some(
      (item) =>
        item.key === key &&
        item.id === id &&
        (item.mergedAt === null || this.now < item.mergedAt + this.rememberMs),
    )
  }

  add(item: Pick<ModelItem, 'key' | 'id' | 'body' | 'order'>): void {
    this.items.push({ ...item, arrival: this.items.length, mergedAt: null, keptIn: null })
  }

  /** What waits or runs for a key, as it will be merged. */
  unmerged(key: string): readonly ModelItem[] {
    return this.items
      .filter((item) => item.key === key && item.mergedAt === null)
      .sort((one, other) => one.order - other.order || one.arrival - other.arrival)
  }

  /** What waits in the key itself. */
  staged(key: string): readonly ModelItem[] {
    return this.unmerged(key).filter(({ keptIn }) => keptIn === null)
  }

  /** What may be taken as one batch: the first items of the key, or a batch that is kept. */
  candidates(key: string, maxItems: number): readonly (readonly ModelItem[])[] {
    const unmerged = this.unmerged(key)
    const kept = new Set(unmerged.flatMap(({ keptIn }) => keptIn ?? []))
    const staged = this.staged(key).slice(0, maxItems)
    return [
      ...(staged.length > 0 ? [staged] : []),
      ...[...kept].map((batch) => unmerged.filter(({ keptIn }) => keptIn === batch)),
    ]
  }

  /** These triggers failed for good, of all keys or of one. */
  keep(messages: ReadonlySet<number>, only?: string): void {
    for (const [key, batch] of this.batches) {
      if (!messages.has(batch.lease.message) || key !== (only ?? key)) continue
      for (const item of batch.items) item.keptIn ??= batch
      this.batches.delete(key)
    }
  }

  isLive({ isOver, expiresAt }: ModelLease): boolean {
    return !isOver && expiresAt > this.now
  }

  /** The batch of a key whose holder may still work on it. */
  running(key: string): ModelBatch | undefined {
    const batch = this.batches.get(key)
    return batch !== undefined && this.isLive(batch.lease) ? batch : undefined
  }

  received(lease: Omit<ModelLease, 'isOver' | 'expiresAt'>): ModelLease {
    for (const earlier of this.leases) {
      if (earlier.message === lease.message) earlier.isOver = true
    }
    const held = { ...lease, isOver: false, expiresAt: this.now + leaseMs }
    this.leases.push(held)
    return held
  }

  begin(lease: ModelLease, items: readonly ModelItem[]): void {
    if (this.batches.get(lease.key)?.lease !== lease) this.batches.set(lease.key, { lease, items })
  }

  /** Whether a holder may end its batch: late it may be, but not followed by another one. */
  mayEnd(lease: ModelLease): boolean {
    return !lease.isOver && this.batches.get(lease.key)?.lease === lease
  }

  end(lease: ModelLease): void {
    for (const item of this.batches.get(lease.key)?.items ?? []) item.mergedAt = this.now
    this.batches.delete(lease.key)
    lease.isOver = true
  }

  purge(): void {
    for (const lease of this.leases) lease.isOver = true
  }
}
