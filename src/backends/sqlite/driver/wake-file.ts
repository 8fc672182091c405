/**
 * Notifies other processes on the same store that messages have become ready. A one-byte file lies beside
 * the store: `notify` writes it, and processes with waiting receives watch it. A slow poll of SQLite's
 * change counter finds what lost events have missed, and leases that other processes took.
 */
import { closeSync, constants, type FSWatcher, openSync, watch, writeSync } from 'node:fs'
import type { Ports } from '../../../core/ports.ts'

/** With a working watch the poll is only a safety net; without one it does all the work. */
const pollMs = 100
const pollWithoutWatchMs = 10

/** After looking, at least this many times as long is spent on other things. */
const restFactor = 10

/** One look that was slow by chance must not make the next one late. */
const restMsMax = 2

const stroke = Buffer.from('.')

/** The name of the wake file of a store. */
export function wakeFileOf(store: string): string {
  return `${store}-wake`
}

export interface WakeFileOptions {
  readonly file: string
  readonly ports: Ports
  /** Moves on when another connection has committed. */
  readonly version: () => number
  /** Another process may have something for us. */
  readonly onChange: () => void
  /** Whether a receive still waits; when none does, the watch stops by itself. */
  readonly isAwaited: () => boolean
}

export class WakeFile {
  readonly #options: WakeFileOptions
  readonly #descriptor: number
  #watcher: FSWatcher | undefined
  #cancelPoll: (() => void) | undefined
  #seenVersion = 0
  #restUntilMs = 0
  #cancelLateLook: (() => void) | undefined

  constructor(options: WakeFileOptions) {
    this.#options = options
    this.#descriptor = openSync(options.file, constants.O_RDWR | constants.O_CREAT)
  }

  notify(): void {
    try {
      writeSync(this.#descriptor, stroke, 0, 1, 0)
    } catch {
      // A lost stroke is made good by the listeners' poll.
    }
  }

  /** Watches as long as a receive waits; starting again does nothing. */
  listen(): void {
    if (this.#cancelPoll !== undefined) return
    this.#seenVersion = this.#options.version()
    this.#watcher = this.#startWatching()
    this.#planPoll()
  }

  close(): void {
    this.#pause()
    closeSync(this.#descriptor)
  }

  #pause(): void {
    this.#cancelPoll?.()
    this.#cancelPoll = undefined
    this.#cancelLateLook?.()
    this.#cancelLateLook = undefined
    this.#watcher?.close()
    this.#watcher = undefined
  }

  #startWatching(): FSWatcher | undefined {
    try {
      const watcher = watch(this.#options.file, { persistent: false }, () => this.#look())
      watcher.on('error', () => {
        watcher.close()
        this.#watcher = undefined
      })
      return watcher
    } catch {
      return undefined
    }
  }

  #planPoll(): void {
    const { timers } = this.#options.ports
    const delayMs = this.#watcher === undefined ? pollWithoutWatchMs : pollMs
    // Not with the last waiter, which is often back at once: starting to listen is not free.
    const poll = (): void => {
      if (!this.#options.isAwaited()) {
        this.#pause()
        return
      }
      this.#planPoll()
      this.#look()
    }
    this.#cancelPoll = timers.after(delayMs, poll, { background: true })
  }

  #look(): void {
    const { ports, version, onChange } = this.#options
    if (this.#cancelPoll === undefined) return
    const startedMs = ports.clock.monotonic()
    if (startedMs < this.#restUntilMs) {
      this.#lookLater(this.#restUntilMs - startedMs)
      return
    }
    const current = version()
    if (current === this.#seenVersion) return
    this.#seenVersion = current
    onChange()
    const endedMs = ports.clock.monotonic()
    this.#restUntilMs = endedMs + Math.min(restMsMax, (endedMs - startedMs) * restFactor)
  }

  /** An event during the rest would otherwise wait for the next poll. */
  #lookLater(delayMs: number): void {
    const look = (): void => {
      this.#cancelLateLook = undefined
      this.#look()
    }
    const { timers } = this.#options.ports
    this.#cancelLateLook ??= timers.after(delayMs, look, { background: true })
  }
}
