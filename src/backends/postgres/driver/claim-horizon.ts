/**
 * From which sequence number on a claim looks for ready messages. Index entries of messages that were
 * settled stay until the table is vacuumed, and a claim from the beginning reads past all of them. Numbers
 * are stored out of order, so a claim from the beginning follows now and then, and when one finds too few.
 */
import type { Clock } from '../../../core/ports.ts'
import { blockSize } from './sequence-block.ts'

/** How long a message with a low number may wait, if there are enough others. */
const fullEveryMs = 100

/** Messages that are stored at the same time have numbers about this far apart. */
const margin = 16 * blockSize

interface Horizon {
  from: number
  fullMs: number
}

export class ClaimHorizon {
  readonly #clock: Clock
  readonly #horizons = new Map<number, Horizon>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  from(generation: number): number {
    const horizon = this.#horizons.get(generation)
    if (horizon === undefined) return 0
    return this.#clock.monotonic() - horizon.fullMs < fullEveryMs ? horizon.from : 0
  }

  /** A claim that looked from `from` on has found this as the first message. */
  found(
    generation: number,
    { from, first }: { readonly from: number; readonly first: number },
  ): void {
    const known = this.#horizons.get(generation)
    const next = Math.max(0, first - margin)
    if (known === undefined || from === 0) {
      this.#horizons.set(generation, { from: next, fullMs: this.#clock.monotonic() })
    } else {
      known.from = next
    }
  }

  /** There are no more messages from there on. */
  reset(generation: number): void {
    this.#horizons.delete(generation)
  }
}
