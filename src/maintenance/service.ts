/**
 * A recurring background task: one slice at a time, at once again while there is more to do, and less often
 * while it fails.
 */
import { isStoreGone } from '../core/millrace-error.ts'
import type { Timers } from '../core/ports.ts'

export interface ServiceOptions {
  readonly timers: Timers
  /** Pause after a slice without more work. */
  readonly intervalMs: number
  /**
   * The pause grows to this share of the time for which there was nothing to do, so that long times cost
   * little. A wake makes it short again. Default: 0.
   */
  readonly idleGrowth?: number | undefined
  /** Called with the time for which there was nothing to do; 0 after work and after a wake. */
  readonly slice: (idleMs: number) => Promise<SliceEnd>
  /** Runs the first slice without a pause. */
  readonly startsAtOnce?: boolean
  readonly onFailure?: ((failure: ServiceFailure) => void) | undefined
}

export interface SliceEnd {
  /** Whether there is more to do now. */
  readonly more?: boolean
  /** Whether there was something to do. Default: the same as `more`. */
  readonly hasWorked?: boolean
  /** Time until the next slice, if shorter than the pause. */
  readonly nextInMs?: number
}

export interface ServiceFailure {
  readonly error: unknown
  /** Consecutive failures, including this one. */
  readonly failures: number
  /** Null if the store is closed or was replaced, and the service has stopped. */
  readonly retryInMs: number | null
}

const retryMsMax = 60_000

export class Service {
  readonly #options: ServiceOptions
  #running: Run | undefined

  constructor(options: ServiceOptions) {
    this.#options = options
  }

  /** Does nothing if already running. */
  start(): void {
    if (this.#running !== undefined) return
    const run: Run = {
      stopped: false,
      failures: 0,
      idleMs: 0,
      isBusy: true,
      whenIdle: [],
      wake: () => {},
      done: Promise.resolve(),
    }
    this.#running = run
    run.done = this.#loop(run).finally(() => becomeIdle(run))
  }

  /** Runs the next slice without waiting for its time. */
  wake(): void {
    this.#running?.wake()
  }

  /** Resolves when no slice runs, and the next one has to wait. */
  async idle(): Promise<void> {
    const run = this.#running
    while (run?.isBusy) {
      await new Promise<void>((resolve) => {
        run.whenIdle.push(resolve)
      })
    }
  }

  /** Resolves when the last slice has ended. Concurrent calls share one promise. */
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
    // A stop during a slice does not end a later pause, so check before pausing.
    while (waitMs !== null && !run.stopped) {
      await this.#pause(run, waitMs)
      if (run.stopped) return
      waitMs = await this.#slice(run)
    }
  }

  /** Resolves with the milliseconds until the next slice, or null if there is none. */
  async #slice(run: Run): Promise<number | null> {
    const { intervalMs, idleGrowth = 0, slice, onFailure } = this.#options
    try {
      const { more = false, hasWorked = more, nextInMs } = await slice(run.idleMs)
      run.failures = 0
      if (hasWorked) run.idleMs = 0
      if (more) return 0
      const pauseMs = Math.max(intervalMs, Math.round(run.idleMs * idleGrowth))
      const waitMs = Math.max(0, Math.min(pauseMs, nextInMs ?? pauseMs))
      run.idleMs += waitMs
      return waitMs
    } catch (error) {
      run.failures += 1
      const backoffMs = Math.min(intervalMs * 2 ** run.failures, retryMsMax)
      const retryInMs = isStoreGone(error) ? null : backoffMs
      onFailure?.({ error, failures: run.failures, retryInMs })
      return retryInMs
    }
  }

  /** Other work gets a turn even between two slices without a pause. */
  #pause(run: Run, waitMs: number): Promise<void> {
    const { timers } = this.#options
    return new Promise((resolve) => {
      if (waitMs === 0) {
        timers.soon(resolve)
        return
      }
      const goOn = (): void => {
        cancel()
        run.isBusy = true
        resolve()
      }
      const cancel = timers.after(waitMs, goOn, { background: true })
      run.wake = () => {
        run.idleMs = 0
        goOn()
      }
      becomeIdle(run)
    })
  }
}

function becomeIdle(run: Run): void {
  run.isBusy = false
  for (const resolve of run.whenIdle.splice(0)) resolve()
}

interface Run {
  stopped: boolean
  failures: number
  /** For how long there was nothing to do. */
  idleMs: number
  /** Whether a slice runs, or starts without a pause. */
  isBusy: boolean
  whenIdle: (() => void)[]
  /** Ends the pause before the next slice. */
  wake: () => void
  done: Promise<void>
}
