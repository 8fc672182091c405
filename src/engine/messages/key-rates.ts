/** The rates that a queue has for each value of a key, as one claim sees them. */

import type { Queue } from '../queues/queue.ts'
import type { Steps } from '../steps.ts'
import type { Transaction, View } from '../transaction.ts'
import type { Kind } from './buckets.ts'
import {
  type Claimed,
  claimedLately,
  noteClaims,
  type Rated,
  rateOpensAt,
  roomInRate,
} from './rates.ts'
import { valueAt } from './running-by-value.ts'

interface Use {
  readonly rated: Rated
  readonly claimed: Claimed
  /** How many more may be taken, those of this claim not considered. */
  readonly room: number
  taken: number
}

export class KeyRates {
  readonly #queue: Queue
  readonly #hasRates: boolean
  /** By key and value. */
  readonly #uses = new Map<string, Use>()

  constructor(queue: Queue) {
    this.#queue = queue
    this.#hasRates = queue.settings.ceilings.perKey.some(({ rate }) => rate !== null)
  }

  /** Whether rates of a kind must be read before the others are asked about it. */
  isUnknown(kind: Kind): boolean {
    return this.#hasRates && this.#ratedOf(kind).some(({ key }) => !this.#uses.has(key))
  }

  *read(view: View, kind: Kind): Steps<void> {
    for (const rated of this.#ratedOf(kind)) {
      if (this.#uses.has(rated.key)) continue
      const claimed = yield* claimedLately(view, rated)
      this.#uses.set(rated.key, { rated, claimed, room: roomInRate(rated, claimed), taken: 0 })
    }
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
  opensAt(kind: Kind, now: number): number {
    const full = this.#usesOf(kind).filter(({ room, taken }) => taken >= room)
    return Math.max(now, ...full.map(({ rated, claimed }) => rateOpensAt(rated, claimed, now)))
  }

  /** Writes down what was taken. */
  *note(tx: Transaction): Steps<void> {
    for (const { rated, taken } of this.#uses.values()) {
      if (taken > 0) yield* noteClaims(tx, rated, taken)
    }
  }

  #usesOf(kind: Kind): readonly Use[] {
    if (!this.#hasRates) return none
    return this.#ratedOf(kind).flatMap(({ key }) => this.#uses.get(key) ?? [])
  }

  #ratedOf(kind: Kind): readonly Rated[] {
    if (kind.keys === null) return none
    return this.#queue.settings.ceilings.perKey.flatMap(({ key, rate }) => {
      const value = rate === null ? null : valueAt(kind, key)
      if (rate === null || value === null) return []
      return { queue: this.#queue, rate, key: JSON.stringify([key, value]) }
    })
  }
}

const none: readonly never[] = []
