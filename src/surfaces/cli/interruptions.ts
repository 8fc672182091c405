/** Ctrl-C during a long operation: once to detach from it, twice to stop it. */
import { pause } from '../../core/pause.ts'
import type { Shell } from './shell.ts'

/** npm and its script forward signals, so one Ctrl-C may arrive several times. */
const echoMs = 300
/** How long to wait for a second Ctrl-C. */
const secondMs = 2_000

export class Interruptions implements Disposable {
  readonly #shell: Shell
  readonly #first = new AbortController()
  readonly #second = new AbortController()
  readonly #forget: () => void
  #firstAt: number | undefined

  constructor(shell: Shell) {
    this.#shell = shell
    this.#forget = shell.onInterrupt(() => this.#interrupted())
  }

  /** Aborts at the first Ctrl-C. */
  get signal(): AbortSignal {
    return this.#first.signal
  }

  /** Resolves with true if a second Ctrl-C follows soon. */
  async isRepeated(): Promise<boolean> {
    const { timers } = this.#shell.ports
    if (!this.#second.signal.aborted) await pause(timers, secondMs, this.#second.signal)
    return this.#second.signal.aborted
  }

  [Symbol.dispose](): void {
    this.#forget()
  }

  #interrupted(): void {
    const now = this.#shell.ports.clock.monotonic()
    this.#firstAt ??= now
    if (now - this.#firstAt > echoMs) this.#second.abort()
    this.#first.abort()
  }
}
