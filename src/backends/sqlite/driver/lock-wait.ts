/**
 * Waits for the write lock while another process holds it. It tries as often as it can for some
 * milliseconds, since most transactions are short, then once a millisecond.
 */
import type { Ports } from '../../../core/ports.ts'
import type { LockFairness } from './lock-fairness.ts'

/** How long it tries as often as it can. */
export const eagerMs = 3

/** How long it does so without a pause: most transactions end within this time. */
const spinMs = 0.4

/**
 * Between two later tries the thread sleeps. The process that holds the lock may be waiting for this very
 * core, and a loop without sleep would keep it waiting for a whole time slice, some three milliseconds.
 */
const sleepMs = 0.05

/** How long it waits between two tries after that. */
const retryMs = 1

export interface LockWaitOptions {
  readonly ports: Pick<Ports, 'clock' | 'timers'>
  readonly fairness: Pick<LockFairness, 'requestTurn'>
  /** How long to wait in all. */
  readonly timeoutMs: number
}

export class LockWait {
  readonly #options: LockWaitOptions
  readonly #cell = new Int32Array(new SharedArrayBuffer(4))
  #sinceMs: number | undefined

  constructor(options: LockWaitOptions) {
    this.#options = options
  }

  /** Calls `run` for the next try; returns false when the wait has taken too long. */
  retry(run: () => void): boolean {
    const { ports, fairness, timeoutMs } = this.#options
    const nowMs = ports.clock.monotonic()
    this.#sinceMs ??= nowMs
    const waitedMs = nowMs - this.#sinceMs
    if (waitedMs > timeoutMs) {
      this.#sinceMs = undefined
      return false
    }
    fairness.requestTurn(waitedMs)
    if (waitedMs < eagerMs) {
      if (waitedMs >= spinMs) Atomics.wait(this.#cell, 0, 0, sleepMs)
      ports.timers.soon(run)
    } else ports.timers.after(retryMs, run)
    return true
  }

  /** The lock was free. */
  end(): void {
    this.#sinceMs = undefined
  }
}
