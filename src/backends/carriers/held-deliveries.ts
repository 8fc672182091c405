/**
 * The deliveries of this process that only a carrier knows. A carrier does not return the content of a message
 * by its receipt, and some of them accept any receipt.
 */
import type { Clock } from '../../core/ports.ts'
import type { Delivery, LeaseState } from '../backend.ts'

interface Held {
  readonly queue: string
  readonly delivery: Delivery
  /** By the monotonic clock. */
  endsAt: number
}

export class HeldDeliveries {
  readonly #clock: Clock
  readonly #held = new Map<string, Held>()
  /** The receipt of the latest delivery of each message. */
  readonly #latest = new Map<string, string>()
  /** Receipts of the store for deliveries that it tracks by now. */
  readonly #tracked = new Map<string, string>()
  /** Queues with messages that the store does not know. */
  readonly #untracked = new Set<string>()
  #lastToken = 0
  #cleanedAt = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Tokens rise by the clock, also across processes whose clocks agree. */
  lease(visibilityMs: number): Pick<Delivery, 'token' | 'leasedAt' | 'leaseExpiresAt'> {
    const now = this.#clock.now()
    this.#lastToken = Math.max(this.#lastToken + 1, now * 1_000)
    const token = this.#lastToken
    return { token, leasedAt: now, leaseExpiresAt: now + visibilityMs }
  }

  track(receipt: string, stored: string): void {
    this.#tracked.set(receipt, stored)
  }

  storedReceipt(receipt: string): string | undefined {
    return this.#tracked.get(receipt)
  }

  noteUntracked(queue: string): void {
    this.#untracked.add(queue)
  }

  hasUntracked(queue: string): boolean {
    return this.#untracked.has(queue)
  }

  add(queue: string, delivery: Delivery): void {
    this.noteUntracked(queue)
    const now = this.#clock.monotonic()
    if (now - this.#cleanedAt > 60_000) this.#clean(now)
    const endsAt = now + (delivery.leaseExpiresAt - delivery.leasedAt)
    this.#held.set(delivery.receipt, { queue, delivery, endsAt })
    this.#latest.set(delivery.id, delivery.receipt)
  }

  find(queue: string, receipt: string): Delivery | undefined {
    const held = this.#held.get(receipt)
    return held?.queue === queue ? held.delivery : undefined
  }

  state(queue: string, receipt: string): LeaseState {
    const held = this.#held.get(receipt)
    if (held?.queue !== queue) return 'gone'
    if (this.#latest.get(held.delivery.id) !== receipt) return 'stale'
    return held.endsAt > this.#clock.monotonic() ? 'live' : 'lapsed'
  }

  /** The delivery of a live lease, with its end as it is now. */
  live(queue: string, receipt: string): Delivery | null {
    const held = this.#held.get(receipt)
    if (held === undefined || this.state(queue, receipt) !== 'live') return null
    const leaseExpiresAt = this.#clock.now() + held.endsAt - this.#clock.monotonic()
    return { ...held.delivery, leaseExpiresAt }
  }

  extended(receipt: string, visibilityMs: number): number {
    const held = this.#held.get(receipt)
    if (held !== undefined) held.endsAt = this.#clock.monotonic() + visibilityMs
    return this.#clock.now() + visibilityMs
  }

  /** The message has returned to its queue: the receipt is stale. */
  end(receipt: string): void {
    const id = this.#held.get(receipt)?.delivery.id ?? ''
    if (this.#latest.get(id) === receipt) this.#latest.delete(id)
  }

  forgetQueue(queue: string): void {
    for (const [receipt, held] of this.#held) if (held.queue === queue) this.remove(receipt)
  }

  remove(receipt: string): void {
    const id = this.#held.get(receipt)?.delivery.id ?? ''
    this.#held.delete(receipt)
    this.#tracked.delete(receipt)
    if (this.#latest.get(id) === receipt) this.#latest.delete(id)
  }

  /** A late receipt may still be used, so deliveries are kept for a while after their leases. */
  #clean(now: number): void {
    this.#cleanedAt = now
    for (const [receipt, { endsAt }] of this.#held) {
      if (endsAt + 3_600_000 < now) this.remove(receipt)
    }
  }
}
