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

/** Deliveries are claimed ahead if they are expected to start within this time and that of a claim. */
const horizonMs = 5

/** A delivery that has waited for so many horizons is released. */
const horizonsMax = 4

/** Claiming more than this does not make a commit noticeably cheaper per job. */
export const claimsAheadMax = 500

/** The same where handlers wait for the claim. */
const blockingClaimMax = 200

/** One slow handler among a hundred fast ones is enough to claim nothing ahead for a while. */
const handlerWeight = 1 / 64
const claimWeight = 1 / 8

/** Less than any handler takes. */
const meanMsMin = 0.01

/** A delivery with its lease, from claim to settlement. */
export interface Claimed {
  readonly source: Source
  readonly delivery: Delivery
  readonly lease: HeldLease
}

interface Waiting {
  readonly claimed: Claimed
  readonly sinceMs: number
}

export interface ClaimsAheadSetup {
  readonly ports: Pick<Ports, 'clock' | 'timers'>
  /** Whether handlers run during a claim. */
  readonly concurrentCalls: boolean
  /** Returns deliveries that have waited too long to their queues. */
  readonly release: (waiting: readonly Claimed[]) => void
}

export class ClaimsAhead {
  readonly #setup: ClaimsAheadSetup
  readonly #waiting = new Map<Source, Waiting[]>()
  #size = 0
  #cancelTimer: (() => void) | undefined
  /** The average duration of recent handlers. */
  #meanMs = Number.POSITIVE_INFINITY
  /** The average duration of recent claims that handlers did not wait for. */
  #claimMs = 0

  constructor(setup: ClaimsAheadSetup) {
    this.#setup = setup
  }

  get size(): number {
    return this.#size
  }

  /** Records how long a handler took. */
  noteEnd(durationMs: number): void {
    const isFirst = this.#meanMs === Number.POSITIVE_INFINITY
    this.#meanMs = isFirst ? durationMs : this.#meanMs + (durationMs - this.#meanMs) * handlerWeight
  }

  /** Records how long a claim took while handlers ran. */
  noteClaim(durationMs: number): void {
    this.#claimMs += (durationMs - this.#claimMs) * claimWeight
  }

  get #horizonMs(): number {
    return horizonMs + this.#claimMs
  }

  /** How many handlers will start within the horizon in this many slots. */
  expectedStarts(slots: number): number {
    const perSlot = this.#horizonMs / Math.max(this.#meanMs, meanMsMin)
    const max = this.#setup.concurrentCalls ? claimsAheadMax : blockingClaimMax
    return Math.min(max, Math.floor(slots * perSlot))
  }

  /** How many more deliveries to claim while others run in this many slots: many in one claim, or none. */
  room(slots: number): number {
    const expected = this.expectedStarts(slots)
    const room = expected - this.#size
    return room < expected / 2 ? 0 : room
  }

  add(source: Source, claimed: readonly Claimed[]): void {
    if (claimed.length === 0) return
    const sinceMs = this.#setup.ports.clock.monotonic()
    const added = claimed.map((one) => ({ claimed: one, sinceMs }))
    this.#waiting.set(source, [...(this.#waiting.get(source) ?? []), ...added])
    this.#size += claimed.length
    if (this.#cancelTimer === undefined) this.#planRelease(horizonsMax * this.#horizonMs)
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
    return first?.claimed
  }

  /** Removes and returns all. */
  clear(): readonly Claimed[] {
    const waiting = [...this.#waiting.values()].flat().map(({ claimed }) => claimed)
    this.#waiting.clear()
    this.#size = 0
    return waiting
  }

  #planRelease(delayMs: number): void {
    const { clock, timers } = this.#setup.ports
    const check = (): void => {
      this.#cancelTimer = undefined
      if (this.#size === 0) return
      const sinceMs = [...this.#waiting.values()].map(([first]) => first?.sinceMs ?? 0)
      const waitedMs = clock.monotonic() - Math.min(...sinceMs)
      const leftMs = horizonsMax * this.#horizonMs - waitedMs
      if (leftMs <= 0) this.#setup.release(this.clear())
      else this.#planRelease(leftMs)
    }
    this.#cancelTimer = timers.after(delayMs, check, { background: true })
  }
}
