/**
 * SQLite's write lock is not fair: a process that commits in a tight loop gets it again and again
 * while others look for a gap. So whoever has to wait knocks, by writing the time into a small file
 * that all processes share, and whoever finds a knock after its own commit leaves room for a moment.
 */
import { closeSync, constants, openSync, readSync, writeSync } from 'node:fs'
import type { Clock } from '../../core/ports.ts'

/** Behind the byte that the bell strikes. */
const position = 8

export class Courtesy {
  readonly #clock: Clock
  readonly #descriptor: number
  readonly #time = new Float64Array(1)

  constructor(file: string, clock: Clock) {
    this.#clock = clock
    this.#descriptor = openSync(file, constants.O_RDWR | constants.O_CREAT)
  }

  /** Says that this process waits for the lock. */
  knock(): void {
    this.#time[0] = this.#clock.now()
    try {
      writeSync(this.#descriptor, this.#time, 0, 8, position)
    } catch {
      // Without a knock the wait is longer, not endless.
    }
  }

  /** Whether somebody has knocked since the given wall time. */
  hasKnockSince(wallMs: number): boolean {
    try {
      const bytes = readSync(this.#descriptor, this.#time, 0, 8, position)
      return bytes === 8 && (this.#time[0] ?? 0) >= wallMs
    } catch {
      return false
    }
  }

  close(): void {
    closeSync(this.#descriptor)
  }
}
