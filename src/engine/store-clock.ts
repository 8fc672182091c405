/**
 * The clock of a store, in two readings. *Store time* never runs backwards; leases, delays and expiry
 * compare it, and processes that share a file share it, because each commit writes it down. *Wall time*
 * is the machine's clock as far as it is believed; schedules go by it. A wall clock that leaves the pace
 * of the monotonic clock is believed only after it has stayed there for a while.
 */
import type { ClockChange } from '../core/clock-change.ts'
import type { Clock, Uptime } from '../core/ports.ts'

/** Corrections up to this size are followed at once: they are common, and no lease is this short. */
const stepMsMax = 1_000

/** How far an uptime may be off: some systems give it in whole seconds. */
const uptimeErrorMs = 1_000

/** How long the wall clock must stay where it jumped to; NTP daemons wait as long before they step. */
export const believedAfterMs = 300_000

/** The times that the latest commit wrote. */
export interface WrittenTime {
  readonly clock_ms: number
  readonly wall_ms: number
  /** The machine's uptime at that moment, and which boot it counts from. */
  readonly uptime_ms: number
  readonly boot: string | null
}

export interface StoreClockOptions {
  readonly clock: Clock
  readonly uptime: () => Uptime | undefined
  readonly onChange?: ((change: ClockChange) => void) | undefined
}

/** The wall clock is not where the passed time says it should be. */
interface Jump {
  readonly offsetMs: number
  readonly sinceMonotonicMs: number
}

export class StoreClock {
  readonly #options: StoreClockOptions
  #nowMs = 0
  #wallMs = Number.NaN
  #monotonicMs = 0
  #uptime: Uptime | undefined
  #uptimeMonotonicMs = 0
  #jump: Jump | undefined

  constructor(options: StoreClockOptions) {
    this.#options = options
  }

  /** The store time now, at or after the latest that any process wrote down. */
  now(written: WrittenTime): number {
    const { clock } = this.#options
    const monotonicMs = clock.monotonic()
    const readMs = clock.now()
    if (Number.isNaN(this.#wallMs)) this.#start(written, readMs, monotonicMs)
    const elapsedMs = monotonicMs - this.#monotonicMs
    const expectedMs = this.#wallMs + elapsedMs
    this.#wallMs =
      Math.abs(readMs - expectedMs) <= stepMsMax
        ? this.#settled(readMs)
        : this.#afterJump(expectedMs, readMs, monotonicMs)
    this.#nowMs = Math.max(this.#nowMs + elapsedMs, this.#wallMs, written.clock_ms)
    this.#monotonicMs = monotonicMs
    return Math.floor(this.#nowMs)
  }

  /** Wall time at the latest reading. */
  get wallMs(): number {
    return Math.floor(this.#wallMs)
  }

  /** The machine's uptime at the latest reading. */
  get uptimeMs(): number {
    return Math.floor(this.#passedUptimeMs(this.#monotonicMs))
  }

  get boot(): string | null {
    return this.#uptime?.boot ?? null
  }

  /**
   * A process that starts has no monotonic time to compare with. Since the last commit at most so much
   * time has passed as the machine was up; after a reboot only the wall clock knows.
   */
  #start(written: WrittenTime, readMs: number, monotonicMs: number): void {
    this.#readUptime(monotonicMs)
    const isSameBoot = this.#uptime !== undefined && this.#uptime.boot === written.boot
    const upMs = (this.#uptime?.ms ?? 0) - written.uptime_ms
    const passedMs =
      isSameBoot && upMs >= -uptimeErrorMs ? Math.max(0, upMs) : Number.POSITIVE_INFINITY
    this.#wallMs = Math.max(written.wall_ms, Math.min(readMs, written.wall_ms + passedMs))
    this.#monotonicMs = monotonicMs
  }

  #settled(readMs: number): number {
    const jump = this.#jump
    this.#jump = undefined
    if (jump !== undefined) this.#tell('returned', jump.offsetMs)
    return readMs
  }

  #afterJump(expectedMs: number, readMs: number, monotonicMs: number): number {
    let offsetMs = readMs - expectedMs
    const known = this.#jump
    if (known === undefined || Math.abs(offsetMs - known.offsetMs) > stepMsMax) {
      // The monotonic clock stops while the machine sleeps, its uptime does not.
      const sleptMs = Math.max(0, Math.min(this.#sleptMs(monotonicMs), offsetMs))
      offsetMs -= sleptMs
      if (sleptMs > 0 && Math.abs(offsetMs) <= stepMsMax + uptimeErrorMs) {
        return this.#settled(readMs)
      }
      this.#jump = { offsetMs, sinceMonotonicMs: monotonicMs }
      this.#tell(offsetMs > 0 ? 'ahead' : 'behind', offsetMs)
      return expectedMs + sleptMs
    }
    if (monotonicMs - known.sinceMonotonicMs < believedAfterMs) return expectedMs
    this.#jump = undefined
    this.#tell('believed', offsetMs)
    return readMs
  }

  #sleptMs(monotonicMs: number): number {
    if (this.#uptime === undefined) return 0
    const passedMs = this.#passedUptimeMs(monotonicMs)
    this.#readUptime(monotonicMs)
    return (this.#uptime?.ms ?? 0) - passedMs
  }

  #readUptime(monotonicMs: number): void {
    this.#uptime = this.#options.uptime()
    this.#uptimeMonotonicMs = monotonicMs
  }

  #passedUptimeMs(monotonicMs: number): number {
    return this.#uptime === undefined
      ? 0
      : this.#uptime.ms + (monotonicMs - this.#uptimeMonotonicMs)
  }

  #tell(kind: ClockChange['what'], offsetMs: number): void {
    this.#options.onChange?.({ what: kind, offsetMs: Math.round(offsetMs), believedAfterMs })
  }
}
