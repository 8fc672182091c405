/**
 * Promises that can be checked from the engine's answers alone, without the model: should engine and
 * model ever be wrong in the same way, these still fail. S3 and so on name the invariants.
 */
import assert from 'node:assert/strict'
import type { Delivery, Outcome } from '../../src/backends/backend.ts'

interface Seen {
  readonly queue: string
  readonly group: string | null
  readonly sequence: number
  readonly sentAt: number
  readonly token: number
  readonly receiveCount: number
  readonly leasedUntil: number
}

export interface WatchedReceive {
  readonly queue: string
  readonly now: number
  readonly visibilityMs: number
  /** The shortest that the queue ever had: what was sent longer ago may be gone. */
  readonly retentionMs: number
  readonly deliveries: readonly Delivery[]
}

export class LeaseWatch {
  readonly #seen = new Map<string, Seen>()
  readonly #acknowledged = new Set<string>()
  #highestToken = 0

  received(receive: WatchedReceive): void {
    const { queue, now, visibilityMs, deliveries } = receive
    for (const delivery of deliveries) {
      assert.ok(!this.#acknowledged.has(delivery.id), 'S4: an acknowledged message came again')
      assert.ok(delivery.leaseExpiresAt <= now + visibilityMs, 'S13: a lease is longer than asked')
      if (!this.#isRepeated(delivery, now)) this.#checkNew(receive, delivery)
    }
    for (const delivery of deliveries) {
      const { id, group, sequence, sentAt, token, receiveCount, leaseExpiresAt } = delivery
      const lease = { token, receiveCount, leasedUntil: leaseExpiresAt }
      this.#seen.set(id, { queue, group, sequence, sentAt, ...lease })
      this.#highestToken = Math.max(this.#highestToken, token)
    }
  }

  /** By the message, since a receipt of an earlier lease may have moved the end of a later one. */
  extended(id: string, leasedUntil: number): void {
    const seen = this.#seen.get(id)
    if (seen !== undefined) this.#seen.set(id, { ...seen, leasedUntil })
  }

  settled(token: number, outcome: Outcome, now: number): void {
    for (const [id, seen] of this.#withToken(token)) {
      if (outcome.kind === 'acknowledge') this.#acknowledged.add(id)
      const receiveCount = seen.receiveCount - (outcome.kind === 'release' ? 1 : 0)
      const leasedUntil = outcome.kind === 'retry' ? now + outcome.delayMs : now
      this.#seen.set(id, { ...seen, receiveCount, leasedUntil })
    }
  }

  /** Purged and deleted queues hold no leases any more. */
  emptied(queue: string): void {
    for (const [id, seen] of this.#seen) {
      if (seen.queue === queue) this.#seen.set(id, { ...seen, leasedUntil: 0 })
    }
  }

  #withToken(token: number): [string, Seen][] {
    return [...this.#seen].filter(([, seen]) => seen.token === token)
  }

  /** A repeated receive attempt answers a lease that is known and still live. */
  #isRepeated({ id, token }: Delivery, now: number): boolean {
    const before = this.#seen.get(id)
    return before !== undefined && before.token === token && before.leasedUntil > now
  }

  #checkNew({ queue, now, retentionMs }: WatchedReceive, delivery: Delivery): void {
    const { id, token, group, receiveCount } = delivery
    assert.ok(token > this.#highestToken, 'tokens do not rise')
    const before = this.#seen.get(id)
    assert.ok(before === undefined || before.leasedUntil <= now, 'S3: two holders of one message')
    assert.equal(receiveCount, (before?.receiveCount ?? 0) + 1, 'S7: receives are miscounted')
    if (!queue.endsWith('.fifo')) return
    for (const other of this.#seen.values()) {
      const isHere = other.queue === queue && other.sentAt + retentionMs > now
      const isBefore = other.group === group && other.sequence < delivery.sequence
      const isInFlight = isHere && isBefore && other.leasedUntil > now
      assert.ok(!isInFlight, 'S5: a message was given out while an earlier one is in flight')
    }
  }
}
