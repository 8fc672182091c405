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
  readonly #requestTurn = new Float64Array(2)

  constructor(file: string, clock: Clock) {
    this.#clock = clock
    this.#descriptor = openSync(file, constants.O_RDWR | constants.O_CREAT)
  }

  /** Says that this process waits for the lock, and for how long it has. */
  requestTurn(waitedMs: number): void {
    this.#requestTurn[0] = this.#clock.now()
    this.#requestTurn[1] = waitedMs
    try {
      writeSync(this.#descriptor, this.#requestTurn, 0, 16, position)
    } catch {
      // Without a requestTurn the wait is longer, not endless.
    }
  }

  /** How long the process had waited that requested a turn since this wall time; undefined if none did. */
  turnRequestedSince(wallMs: number): number | undefined {
    try {
      const bytes = readSync(this.#descriptor, this.#requestTurn, 0, 16, position)
      const [turnRequestedMs = 0, waitedMs = 0] = this.#requestTurn
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
