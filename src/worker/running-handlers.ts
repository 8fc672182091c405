/** The handlers that are running: waits for them, enforces their timeouts, and abandons those that do not stop. */
import type { Timers } from '../core/ports.ts'
import type { AbortKind } from './abort-reason.ts'
import type { HandlerEnd } from './handler-end.ts'

/** How long a handler may take to stop after its timeout. */
const timeoutGraceMs = 5_000

/** The context of an attempt or of a batch. */
interface Abortable {
  abort(kind: AbortKind): void
}

export interface RunningHandler {
  readonly context: Abortable
  /** Stops waiting for a handler that ignores its signal. */
  abandon(): void
}

export class RunningHandlers {
  readonly #timers: Timers
  readonly #running: Set<RunningHandler> = new Set()

  constructor(timers: Timers) {
    this.#timers = timers
  }

  get size(): number {
    return this.#running.size
  }

  abort(kind: AbortKind): void {
    for (const { context } of this.#running) context.abort(kind)
  }

  abandon(): void {
    for (const one of [...this.#running]) one.abandon()
  }

  /** Waits until a handler has ended or is abandoned. */
  wait(
    context: Abortable,
    timeoutMs: number | undefined,
    promise: PromiseLike<unknown>,
  ): Promise<HandlerEnd> {
    return new Promise((resolve) => {
      const running: RunningHandler = { context, abandon: () => finish({ how: 'abandoned' }) }
      const stopWatching = this.#watchTime(running, timeoutMs)
      this.#running.add(running)
      const finish = (end: HandlerEnd): void => {
        stopWatching()
        this.#running.delete(running)
        resolve(end)
      }
      promise.then(
        (value) => finish({ how: 'returned', value }),
        (error: unknown) => finish({ how: 'threw', error }),
      )
    })
  }

  /** Asks the handler to stop after its timeout, and abandons it after the grace period. */
  #watchTime({ context, abandon }: RunningHandler, timeoutMs: number | undefined): () => void {
    if (timeoutMs === undefined) return () => undefined
    let cancel = this.#timers.after(timeoutMs, () => {
      context.abort('timeout')
      cancel = this.#timers.after(timeoutGraceMs, abandon)
    })
    return () => cancel()
  }
}
