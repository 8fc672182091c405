/** Queues that are skipped for now: the empty ones until they have messages, those whose claim failed for a while. */
import type { Backend } from '../backends/backend.ts'
import type { Timers } from '../core/ports.ts'
import type { Source } from './source.ts'

/** The first pause after a failed claim. It grows with each failure. */
const restMs = 250
const restMsMax = 10_000

export interface SourceWatchSetup {
  readonly backend: Pick<Backend, 'whenReady'>
  readonly timers: Timers
  readonly heldNames: readonly string[]
  /** Called when a queue is skipped from now on. */
  readonly onSkipped: (source: Source) => void
  /** Called when an empty queue has messages. */
  readonly onReady: () => void
  /** Called when a queue has rested. */
  readonly onRested: () => void
  readonly onFailure: (source: Source, error: unknown, retryInMs: number) => void
}

export class SourceWatch {
  readonly #setup: SourceWatchSetup
  readonly #failures = new Map<Source, number>()
  #watching = new AbortController()
  #isStopped = false

  constructor(setup: SourceWatchSetup) {
    this.#setup = setup
  }

  stop(): void {
    this.#isStopped = true
    this.#watching.abort()
  }

  /** Ends the watches, so that the queues can be claimed from again. */
  restart(): void {
    this.#watching.abort()
    this.#watching = new AbortController()
  }

  /** Skips an empty queue until it may have messages. */
  async watch(source: Source): Promise<void> {
    const { backend, heldNames, onSkipped, onReady } = this.#setup
    const { signal } = this.#watching
    source.state = 'watching'
    onSkipped(source)
    try {
      await backend.whenReady({
        queue: source.setup.name,
        signal,
        ...(heldNames.length > 0 && { heldNames }),
      })
    } catch (error) {
      if (!signal.aborted) this.rest(source, error)
      return
    }
    if (signal.aborted) return
    source.state = 'ready'
    onReady()
  }

  /** Skips a queue for a while after a failed claim, longer each time. */
  rest(source: Source, error: unknown): void {
    if (this.#isStopped) return
    const { timers, onSkipped, onRested, onFailure } = this.#setup
    const failures = this.#failures.get(source) ?? 0
    this.#failures.set(source, failures + 1)
    const delayMs = Math.min(restMsMax, restMs * 2 ** failures)
    source.state = 'resting'
    onSkipped(source)
    onFailure(source, error, delayMs)
    timers.after(
      delayMs,
      () => {
        source.state = 'ready'
        onRested()
      },
      { background: true },
    )
  }

  /** Forgets the failures of a queue after a claim that did not fail. */
  succeeded(source: Source): void {
    this.#failures.delete(source)
  }
}
