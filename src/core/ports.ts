/**
 * Time, chance and identity come in through these ports, so that the whole system can run on a
 * virtual clock and a seeded source of randomness.
 */
export interface Clock {
  /** Wall time in milliseconds since the epoch. May jump in either direction. */
  now(): number
  /** Milliseconds from an arbitrary origin. Never runs backwards. May stand still while the machine sleeps. */
  monotonic(): number
  /** How long the machine has been up. Leave it out where nothing but the wall clock knows. */
  uptime?(): Uptime | undefined
}

export interface Uptime {
  /** Which start of the machine it counts from. */
  readonly boot: string
  /** Milliseconds since then, sleep included. */
  readonly ms: number
}

export interface TimerOptions {
  /** Does not keep a process alive that has nothing else to do. */
  readonly background?: boolean
}

export interface Timers {
  /** Calls `run` once after `delayMs`; the returned function cancels it. */
  after(delayMs: number, run: () => void, options?: TimerOptions): () => void
  /** Calls `run` in the next turn of the event loop, after what has already arrived. */
  soon(run: () => void): void
}

export interface Ids {
  /** A new identifier in the form of a UUID. */
  next(): string
}

export interface Randomness {
  /** A number in [0, 1). */
  next(): number
}

export interface Ports {
  readonly clock: Clock
  readonly timers: Timers
  readonly ids: Ids
  readonly randomness: Randomness
}

/** Longer delays overflow the runtime's 32-bit timers and would fire at once. */
const timerDelayMsMax = 2 ** 31 - 1

const systemTimers: Timers = {
  after(delayMs, run, options) {
    let timer: NodeJS.Timeout
    const arm = (remainingMs: number): void => {
      const slice = Math.min(remainingMs, timerDelayMsMax)
      timer = setTimeout(() => (remainingMs > slice ? arm(remainingMs - slice) : run()), slice)
      if (options?.background) timer.unref()
    }
    arm(Math.max(0, delayMs))
    return () => clearTimeout(timer)
  },
  soon(run) {
    setImmediate(run)
  },
}

export const systemPorts: Ports = {
  clock: { now: () => Date.now(), monotonic: () => performance.now() },
  timers: systemTimers,
  ids: { next: () => crypto.randomUUID() },
  randomness: { next: () => Math.random() },
}
