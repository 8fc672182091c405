/**
 * Sequence numbers that this process has taken ahead, so that storing a message does not wait for one. A
 * block is used for a moment only: what is stored later has a higher number, whichever process stores it.
 */
import type { Clock } from '../../../core/ports.ts'

/** As many as the sequence of the schema moves on by. */
export const blockSize = 1_024

/** How long a block is used. */
const freshMs = 1_000

export class SequenceBlock {
  readonly #clock: Clock
  #next = 0
  #end = 0
  #takenMs = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The first of so many numbers in a row; undefined if a new block is needed for them. */
  take(count: number): number | undefined {
    if (this.#end - this.#next < count) return undefined
    if (this.#clock.monotonic() - this.#takenMs > freshMs) return undefined
    const first = this.#next
    this.#next += count
    return first
  }

  /** A block that the database gave out, of which the first numbers are used already. */
  renew(first: number, used: number): void {
    this.#next = first + used
    this.#end = first + blockSize
    this.#takenMs = this.#clock.monotonic()
  }

  /** Numbers that are given out from now on are higher than all others. */
  drop(): void {
    this.#end = 0
  }
}
