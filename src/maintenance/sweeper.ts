/**
 * Keeps a store tidy: asks it for one short slice of upkeep every second, again at once while there
 * is more to do, and less often while the store fails.
 */
import type { Backend } from '../backends/backend.ts'
import { MillraceError } from '../core/millrace-error.ts'
import type { Timers } from '../core/ports.ts'

export interface SweeperOptions {
  readonly backend: Pick<Backend, 'sweep'>
  readonly timers: Timers
  /** Pause between two slices. Default 1000. */
  readonly intervalMs?: number
  readonly onFailure?: (failure: SweepFailure) => void
}

export interface SweepFailure {
  readonly error: unknown
  /** Failures in a row, this one included. */
  readonly failures: number
  /** Null when the store is closed and there is nothing left to sweep. */
  readonly retryInMs: number | null
}

const defaultIntervalMs = 1_000
const retryMsMax = 60_000

export class Sweeper {
  readonly #options: SweeperOptions
  readonly #intervalMs: number
  #running: Run | undefined

  constructor(options: SweeperOptions) {
    this.#options = options
    this.#intervalMs = options.intervalMs ?? defaultIntervalMs
  }

  /** Does nothing when it runs already. */
  start(): void {
    if (this.#running !== undefined) return
    const run: Run = { stopped: false, failures: 0, wake: () => {}, done: Promise.resolve() }
    this.#running = run
    run.done = this.#loop(run)
  }

  /** Answers when the last slice has ended; calls at the same time share that answer. */
  async stop(): Promise<void> {
    const run = this.#running
    if (run === undefined) return
    run.stopped = true
    run.wake()
    await run.done
    if (this.#running === run) this.#running = undefined
  }

  async #loop(run: Run): Promise<void> {
    let waitMs: number | null = this.#intervalMs
    // A stop during the slice wakes nobody, so it must not be followed by another pause.
    while (waitMs !== null && !run.stopped) {
      await this.#pause(run, waitMs)
      if (run.stopped) return
      waitMs = await this.#slice(run)
    }
  }

  /** Milliseconds until the next slice, or null when there will be none. */
  async #slice(run: Run): Promise<number | null> {
    try {
      const { more } = await this.#options.backend.sweep()
      run.failures = 0
      return more ? 0 : this.#intervalMs
    } catch (error) {
      run.failures += 1
      const closed = error instanceof MillraceError && error.code === 'store_closed'
      const backoffMs = Math.min(this.#intervalMs * 2 ** run.failures, retryMsMax)
      const retryInMs = closed ? null : backoffMs
      this.#options.onFailure?.({ error, failures: run.failures, retryInMs })
      return retryInMs
    }
  }

  /** Other work gets a turn even between two slices that follow at once. */
  #pause(run: Run, waitMs: number): Promise<void> {
    const { timers } = this.#options
    return new Promise((resolve) => {
      if (waitMs === 0) {
        timers.soon(resolve)
        return
      }
      const cancel = timers.after(waitMs, resolve, { background: true })
      run.wake = () => {
        cancel()
        resolve()
      }
    })
  }
}

interface Run {
  stopped: boolean
  failures: number
  /** Ends the pause before the next slice. */
  wake: () => void
  done: Promise<void>
}
