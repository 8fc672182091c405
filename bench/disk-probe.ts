/**
 * Measures the disk alone: a write of the size of a small commit, and its `fdatasync`. It overwrites a fixed range of
 * a file, like the store's log, because a growing file costs more.
 */
import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs'

/** Four pages with their headers: what one enqueue commits. */
export const commitBytes: number = 4 * 4_120
const commitsPerRound = 500

export class DiskProbe {
  readonly #file: number
  readonly #bytes = Buffer.alloc(commitBytes, 'd')
  #written = 0

  constructor(file: string) {
    this.#file = openSync(file, 'w')
    for (let commit = 0; commit < commitsPerRound; commit += 1) this.#write()
    fdatasyncSync(this.#file)
  }

  /** Writes and syncs once, and returns the milliseconds. */
  measure(): number {
    const startedMs = performance.now()
    this.#write()
    fdatasyncSync(this.#file)
    return performance.now() - startedMs
  }

  close(): void {
    closeSync(this.#file)
  }

  #write(): void {
    writeSync(this.#file, this.#bytes, 0, commitBytes, this.#written * commitBytes)
    this.#written = (this.#written + 1) % commitsPerRound
  }
}
