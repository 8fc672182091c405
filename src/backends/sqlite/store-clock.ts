/**
 * The one clock of a store. It follows the wall clock forwards, never backwards: when the wall clock
 * is set back, it goes on at the pace of the monotonic clock, so a lease is never longer than asked.
 * Processes that share a file share the clock, because each commit writes it down.
 */
import type { Clock } from '../../core/ports.ts'

export class StoreClock {
  readonly #clock: Clock
  #anchorMs = 0
  #anchorMonotonicMs = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The time now, at or after `writtenMs`, the latest time that any process wrote down. */
  now(writtenMs: number): number {
    const monotonicMs = this.#clock.monotonic()
    const elapsedMs = monotonicMs - this.#anchorMonotonicMs
    const now = Math.max(this.#anchorMs + elapsedMs, this.#clock.now(), writtenMs)
    this.#anchorMs = now
    this.#anchorMonotonicMs = monotonicMs
    return Math.floor(now)
  }
}
