/**
 * Deliveries that a worker has claimed before it has a free slot for them. With fast handlers, a commit per
 * free slot would cost far more than the handlers. So a worker claims what it expects to start within a few
 * milliseconds, at the speed it has measured. Deliveries that do not start soon are released for other
 * workers.
 */
import type { Delivery } from '../backends/backend.ts'
import type { Ports } from '../core/ports.ts'
import type { HeldLease } from './lease-keeper.ts'
import type { Source } from './source.ts'

/** Deliveries are claimed ahead if they are expected to start within this time. */
const horizonMs = 5

/** A delivery that has waited this long is released. Four horizons, because a commit may be slow. */
const waitMsMax = 20

/** Claiming more than this does not make a commit noticeably cheaper per job. */
export const claimsAheadMax = 200

/** One slow handler among a hundred fast ones is enough to claim nothing ahead for a while. */
const sampleWeight = 1 / 64

/** Less than any handler takes. */
const meanMsMin = 0.01

/** A delivery with its lease, from claim to settlement. */
export interface Claimed {
  readonly source: Source
  readonly delivery: Delivery
  readonly lease: HeldLease
}

export interface ClaimsAheadSetup {
  readonly ports: Pick<Ports, 'clock' | 'timers'>
  /** Returns deliveries that have waited too long to their queues. */
  readonly release: (waiting: readonly Claimed[]) => void
}

export class ClaimsAhead {
  readonly #setup: ClaimsAheadSetup
  readonly #waiting = new Map<Source, Claimed[]>()
  #size = 0
  #waitingSinceMs = 0
  #cancelTimer: (() => void) | undefined
  /** The average duration of recent handlers. */
  #meanMs = Number.POSITIVE_INFINITY

  constructor(setup: ClaimsAheadSetup) {
    this.#setup = setup
  }

  get size(): number {
    return this.#size
  }

  /** Records how long a handler took. */
  noteEnd(durationMs: number): void {
    const isFirst = this.#meanMs === Number.POSITIVE_INFINITY
    this.#meanMs = isFirst ? durationMs : this.#meanMs + (durationMs - this.#meanMs) * sampleWeight
  }

  /** How many handlers will start within the horizon in this many slots. */
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
