/**
 * SQLite's write lock is not fair: a process that commits in a tight loop gets it again and again
 * while others look for a gap. So a process that has to wait requests a turn: it writes the time into a
 * small file that all processes share. A process that finds a request after its own commit pauses.
 */
import { closeSync, constants, openSync, readSync, writeSync } from 'node:fs'
import type { Clock } from '../../../core/ports.ts'

/** Behind the byte that `WakeFile` writes. */
const position = 8

export class LockFairness {
  readonly #clock: Clock
  readonly #descriptor: number
  /** When a process last requested a turn, and how long it had waited by then. */
  readonly #request = new Float64Array(2)

  constructor(file: string, clock: Clock) {
    this.#clock = clock
    this.#descriptor = openSync(file, constants.O_RDWR | constants.O_CREAT)
  }

  /** Tells other processes that this one waits for the lock, and how long it has waited. */
  requestTurn(waitedMs: number): void {
    this.#request[0] = this.#clock.now()
    this.#request[1] = waitedMs
    try {
      writeSync(this.#descriptor, this.#request, 0, 16, position)
    } catch {
      // Without a request the wait is longer, not endless.
    }
  }

  /** How long the process had waited that requested a turn since this wall time; undefined if none did. */
  turnRequestedSince(wallMs: number): number | undefined {
    try {
      const bytes = readSync(this.#descriptor, this.#request, 0, 16, position)
      const [turnRequestedMs = 0, waitedMs = 0] = this.#request
      if (bytes !== 16 || turnRequestedMs < wallMs) return undefined
      // A time that is yet to come was written before the wall clock was set back.
      return turnRequestedMs <= this.#clock.now() ? waitedMs : undefined
    } catch {
      return undefined
    }
  }

  close(): void {
    closeSync(this.#descriptor)
  }
}
