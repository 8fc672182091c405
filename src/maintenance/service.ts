/**
 * Work that comes up again and again in the background: a slice at a time, again at once while there
 * is more to do, and less often while it fails.
 */
import { isStoreGone } from '../core/millrace-error.ts'
import type { Timers } from '../core/ports.ts'

export interface ServiceOptions {
  readonly timers: Timers
  /** Pause between two slices that had nothing left to do. */
  readonly intervalMs: number
  readonly slice: () => Promise<SliceEnd>
  /** Does the first slice without a pause before it. */
  readonly startsAtOnce?: boolean
  readonly onFailure?: ((failure: ServiceFailure) => void) | undefined
}

export interface SliceEnd {
  /** There is more to do right now. */
  readonly more?: boolean
  /** When to look again, if that is sooner than the interval says. */
  readonly nextInMs?: number
}

export interface ServiceFailure {
  readonly error: unknown
  /** Failures in a row, this one included. */
  readonly failures: number
  /** Null when the store is closed or was replaced, and there is nothing left to do. */
  readonly retryInMs: number | null
}

const retryMsMax = 60_000

export class Service {
  readonly #options: ServiceOptions
  #running: Run | undefined

  constructor(options: ServiceOptions) {
    this.#options = options
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
    const { intervalMs, startsAtOnce = false } = this.#options
    let waitMs: number | null = startsAtOnce ? 0 : intervalMs
    // A stop during the slice wakes nobody, so it must not be followed by another pause.
    while (waitMs !== null && !run.stopped) {
      await this.#pause(run, waitMs)
      if (run.stopped) return
      waitMs = await this.#slice(run)
    }
  }

  /** Milliseconds until the next slice, or null when there will be none. */
  async #slice(run: Run): Promise<number | null> {
    const { intervalMs, slice, onFailure } = this.#options
    try {
      const { more = false, nextInMs = intervalMs } = await slice()
      run.failures = 0
      return more ? 0 : Math.max(0, Math.min(intervalMs, nextInMs))
    } catch (error) {
      run.failures += 1
      const backoffMs = Math.min(intervalMs * 2 ** run.failures, retryMsMax)
      const retryInMs = isStoreGone(error) ? null : backoffMs
      onFailure?.({ error, failures: run.failures, retryInMs })
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
