/** The rates that a queue has for each value of a key, as one claim sees them. */

import type { Session } from '../driver/session.ts'
import type { StoreTransaction } from '../driver/transaction.ts'
import type { Queue } from '../queues/queue-cache.ts'
import type { Kind } from './buckets.ts'
import { noteClaims, type Rated, rateOpensAt, roomInRate } from './rates.ts'
import { valueAt } from './running-by-value.ts'

interface Use {
  readonly rated: Rated
  /** How many more may be taken, those of this claim not considered. */
  readonly room: number
  taken: number
}

export class KeyRates {
  readonly #session: Session
  readonly #queue: Queue
  readonly #now: number
  /** By key and value. */
  readonly #uses = new Map<string, Use>()

  constructor(session: Session, queue: Queue, now: number) {
    this.#session = session
    this.#queue = queue
    this.#now = now
  }

  isFull(kind: Kind): boolean {
    return this.#usesOf(kind).some(({ room, taken }) => taken >= room)
  }

  add(kind: Kind, count: number): void {
    for (const use of this.#usesOf(kind)) use.taken += count
  }

  /** Whether some of the same value were taken within the window. */
  isUsed(kind: Kind): boolean {
    return this.#usesOf(kind).some(({ rated, room }) => room < rated.rate.max)
  }

  /** When one of this kind may be taken, as far as rates are concerned. */
  opensAt(kind: Kind): number {
    const full = this.#usesOf(kind).filter(({ room, taken }) => taken >= room)
    return Math.max(
      this.#now,
      ...full.map(({ rated }) => rateOpensAt(this.#session, rated, this.#now)),
    )
  }

  /** Writes down what was taken. */
  note(tx: StoreTransaction): void {
    for (const { rated, taken } of this.#uses.values()) {
      if (taken > 0) noteClaims(tx, rated, taken)
    }
  }

  #usesOf(kind: Kind): readonly Use[] {
    const uses: Use[] = []
    if (kind.keys === null) return uses
    for (const { key, rate } of this.#queue.settings.ceilings.perKey) {
      const value = rate === null ? null : valueAt(kind, key)
      if (rate === null || value === null) continue
      const name = JSON.stringify([key, value])
      let use = this.#uses.get(name)
      if (use === undefined) {
        const rated = { queue: this.#queue, rate, key: name }
        use = { rated, room: roomInRate(this.#session, rated, this.#now), taken: 0 }
        this.#uses.set(name, use)
      }
      uses.push(use)
    }
    return uses
  }
}
