/**
 * Deliveries that a worker has claimed ahead of its free slots. With fast handlers a commit per free
 * slot would cost far more than the handlers, so a worker claims what will start within a few
 * milliseconds at the pace it has measured. A slow handler brings the pace down, and what does not
 * start soon is released for other workers.
 */
import type { Delivery } from '../backends/backend.ts'
import type { Ports } from '../core/ports.ts'
import type { HeldLease } from './lease-keeper.ts'
import type { Source } from './source.ts'

/** Deliveries are claimed ahead if they should start within this time. */
const horizonMs = 5

/** A delivery that has waited for this long is released: four horizons, since a commit may be slow. */
const waitMsMax = 20

/** More than this does not make a commit noticeably cheaper for each job. */
export const claimsAheadMax = 200

/** One slow handler among a hundred fast ones is enough to claim nothing ahead for a while. */
const sampleWeight = 1 / 64

/** Faster than any handler runs. */
const meanMsMin = 0.01

/** A delivery with its lease, from claim to settlement. */
export interface Claimed {
  readonly source: Source
  readonly delivery: Delivery
  readonly lease: HeldLease
}

export interface ClaimsAheadSetup {
  readonly ports: Pick<Ports, 'clock' | 'timers'>
  /** Returns deliveries to their queues that have waited for too long. */
  readonly release: (waiting: readonly Claimed[]) => void
}

export class ClaimsAhead {
  readonly #setup: ClaimsAheadSetup
  readonly #waiting = new Map<Source, Claimed[]>()
  #size = 0
  #waitingSinceMs = 0
  #cancelTimer: (() => void) | undefined
  /** How long handlers took lately. */
  #meanMs = Number.POSITIVE_INFINITY

  constructor(setup: ClaimsAheadSetup) {
    this.#setup = setup
  }

  get size(): number {
    return this.#size
  }

  /** Notes how long a handler took, for the pace. */
  noteEnd(durationMs: number): void {
    const isFirst = this.#meanMs === Number.POSITIVE_INFINITY
    this.#meanMs = isFirst ? durationMs : this.#meanMs + (durationMs - this.#meanMs) * sampleWeight
  }

  /** How many handlers will start within the horizon in so many slots. */
  expectedStarts(slots: number): number {
    const perSlot = horizonMs / Math.max(this.#meanMs, meanMsMin)
    return Math.min(claimsAheadMax, Math.floor(slots * perSlot))
  }

  add(source: Source, claimed: readonly Claimed[]): void {
    if (claimed.length === 0) return
    if (this.#size === 0) this.#waitingSinceMs = this.#setup.ports.clock.monotonic()
    this.#waiting.set(source, [...(this.#waiting.get(source) ?? []), ...claimed])
    this.#size += claimed.length
    if (this.#cancelTimer === undefined) this.#planRelease(waitMsMax)
  }

  has(source: Source): boolean {
    return this.#waiting.has(source)
  }

  /** Removes and returns the first delivery of a queue. */
  next(source: Source): Claimed | undefined {
    const waiting = this.#waiting.get(source)
    const first = waiting?.shift()
    if (first !== undefined) this.#size -= 1
    if (waiting?.length === 0) this.#waiting.delete(source)
    return first
  }

  /** Removes and returns all. */
  clear(): readonly Claimed[] {
    const waiting = [...this.#waiting.values()].flat()
    this.#waiting.clear()
    this.#size = 0
    return waiting
  }

  #planRelease(delayMs: number): void {
    const { clock, timers } = this.#setup.ports
    const check = (): void => {
      this.#cancelTimer = undefined
      if (this.#size === 0) return
      const waitedMs = clock.monotonic() - this.#waitingSinceMs
      if (waitedMs >= waitMsMax) this.#setup.release(this.clear())
      else this.#planRelease(waitMsMax - waitedMs)
    }
    this.#cancelTimer = timers.after(delayMs, check, { background: true })
  }
}
