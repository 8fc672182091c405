/**
 * Time that moves only when a test moves it. Wall time and monotonic time are kept apart, so that a test can
 * set the wall clock back while durations continue as on a real machine.
 */

import { type Duration, durationMs } from '../core/durations.ts'
import type { Clock, Ids, Ports, Randomness, Timers, Uptime } from '../core/ports.ts'
import { nextTurn } from './real-timers.ts'

interface PendingTimer {
  readonly dueAt: number
  readonly order: number
  readonly run: () => void
}

export interface VirtualClockOptions {
  /** Wall time at the start, in milliseconds since the epoch. */
  readonly startAt?: number
}

export interface VirtualPorts extends Ports {
  readonly clock: VirtualClock
  readonly timers: VirtualClock
}

const defaultStartAt = Date.UTC(2026, 0, 1)

/**
 * Work that a timer starts usually needs a turn to be queued, one to commit and one to resolve.
 * A few more cost microseconds and spare tests from counting them.
 */
const turnsToSettle = 8

export class VirtualClock implements Clock, Timers {
  #wallMs: number
  #monotonicMs = 0
  #sleptMs = 0
  #created = 0
  readonly #pending = new Set<PendingTimer>()

  constructor(options: VirtualClockOptions = {}) {
    this.#wallMs = options.startAt ?? defaultStartAt
  }

  now(): number {
    return this.#wallMs
  }

  monotonic(): number {
    return this.#monotonicMs
  }

  uptime(): Uptime {
    return { boot: 'virtual', ms: this.#monotonicMs + this.#sleptMs }
  }

  /** How many timers wait: a closed system must leave none. */
  get pendingTimers(): number {
    return this.#pending.size
  }

  after(delayMs: number, run: () => void): () => void {
    this.#created += 1
    const timer = {
      dueAt: this.#monotonicMs + Math.max(0, delayMs),
      order: this.#created,
      run,
    }
    this.#pending.add(timer)
    return () => this.#pending.delete(timer)
  }

  soon(run: () => void): void {
    nextTurn(run)
  }

  /**
   * Moves both clocks and fires what falls due on the way, each timer at its own time. Before the clocks move
   * on, it awaits `settle`, which lets a few turns of the event loop pass unless you pass another function.
   */
  async advance(time: number | Duration, settle: () => Promise<void> = settleTurns): Promise<void> {
    const ms = msOf(time)
    if (!(ms >= 0)) throw new RangeError(`advance: got ${ms}, expected 0 or more milliseconds`)
    const until = this.#monotonicMs + ms
    await settle()
    let timer = this.#nextDue(until)
    while (timer !== undefined) {
      this.#moveTo(timer.dueAt)
      this.#pending.delete(timer)
      timer.run()
      await settle()
      timer = this.#nextDue(until)
    }
    this.#moveTo(until)
    await settle()
  }

  /** Moves both clocks and fires nothing, as a handler does that blocks the event loop. */
  block(time: number | Duration): void {
    this.#moveTo(this.#monotonicMs + msOf(time))
  }

  /** Moves wall time alone, in either direction, as a correction of the system's clock does. */
  jumpWall(time: number | Duration): void {
    this.#wallMs += msOf(time)
  }

  /** The machine sleeps: wall time and uptime pass, monotonic time and timers stand still. */
  sleep(time: number | Duration): void {
    const ms = msOf(time)
    this.#sleptMs += ms
    this.#wallMs += ms
  }

  #moveTo(monotonicMs: number): void {
    const step = Math.max(0, monotonicMs - this.#monotonicMs)
    this.#monotonicMs += step
    this.#wallMs += step
  }

  #nextDue(until: number): PendingTimer | undefined {
    let next: PendingTimer | undefined
    for (const timer of this.#pending) {
      if (timer.dueAt > until) continue
      const earlier =
        next === undefined ||
        timer.dueAt < next.dueAt ||
        (timer.dueAt === next.dueAt && timer.order < next.order)
      if (earlier) next = timer
    }
    return next
  }
}

/** Ports on a virtual clock; equal seeds give equal ids and equal random numbers. */
export function virtualPorts(seed = 1, options: VirtualClockOptions = {}): VirtualPorts {
  const clock = new VirtualClock(options)
  return { clock, timers: clock, ids: seededIds(seed), randomness: seededRandomness(seed) }
}

/** The mulberry32 generator: small, and good enough to choose delays and faults. */
export function seededRandomness(seed: number): Randomness {
  let state = seed >>> 0
  return {
    next() {
      state = (state + 0x6d2b79f5) >>> 0
      let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
      mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
    },
  }
}

/** Identifiers in the form of version 4 UUIDs; the counter in the last part keeps them apart. */
export function seededIds(seed: number): Ids {
  const randomness = seededRandomness(seed ^ 0x5bd1e995)
  let count = 0
  const digits = (length: number): string =>
    Math.floor(randomness.next() * 16 ** length)
      .toString(16)
      .padStart(length, '0')
  return {
    next() {
      count += 1
      const last = count.toString(16).padStart(12, '0')
      return `${digits(8)}-${digits(4)}-4${digits(3)}-8${digits(3)}-${last}`
    },
  }
}

export async function settleTurns(): Promise<void> {
  for (let turn = 0; turn < turnsToSettle; turn += 1) {
    await new Promise<void>((resolve) => nextTurn(resolve))
  }
}

/** A number is milliseconds. */
function msOf(time: number | Duration): number {
  return typeof time === 'number' ? time : durationMs(time)
}
