/**
 * Keeps a nearly full disk usable. Settling and receiving need room for the write-ahead log and for
 * checkpoints, so sends have to leave some: they may let the store grow by at most half of what is
 * free, and a reserve file beside the store holds room that other programs cannot take. The reserve
 * is released when a settlement does not fit. While it is missing, every process refuses sends.
 */
import {
  accessSync,
  closeSync,
  constants,
  openSync,
  rmSync,
  statfsSync,
  statSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'

/** With less than this free, each transaction looks at the disk before it writes. */
const lowBytes = 64 * 2 ** 20

/** Enough for some hundred frames of the log; on a small disk it is an eighth of the disk. */
const reserveBytesMax = 2 ** 20
const reservePart = 8

export const pageBytes = 4_096

/** How long the log stays where the disk is nearly full. */
export const tightLogBytes: number = 2 ** 18

/** As many as SQLite allows. */
export const pagesMax = 4_294_967_294

/** Cannot be compressed, so the file takes up its size on every file system. */
const chunkBytes = 128 * 2 ** 10

export class DiskRoom {
  readonly #file: string
  /** How often the disk was checked. */
  looks = 0
  #isLow = false
  #hasReserve = true
  #freeBytes = Number.POSITIVE_INFINITY
  #reserveBytes = 0

  constructor(file: string) {
    this.#file = file
    this.look({ mayRestore: false })
    // A short-lived process on a disk with plenty of room does not pay for the reserve.
    if (this.#isLow) this.look()
  }

  /** The disk is so full that room has to be kept. */
  get isLow(): boolean {
    return this.#isLow
  }

  /** Sends have to wait until the reserve fits on the disk again. */
  get isFull(): boolean {
    return this.#isLow && !this.#hasReserve
  }

  /** Looks at the disk, and makes the reserve where it is missing and there is room for it. */
  look({ mayRestore = true }: { readonly mayRestore?: boolean } = {}): void {
    this.looks += 1
    try {
      const { bavail, blocks, bsize } = statfsSync(dirname(this.#file))
      // Some file systems do not know their size.
      this.#freeBytes = blocks === 0 ? Number.POSITIVE_INFINITY : bavail * bsize
      this.#isLow = this.#freeBytes < lowBytes
      this.#reserveBytes = Math.min(reserveBytesMax, Math.floor((blocks * bsize) / reservePart))
      const found = statSync(reserveOf(this.#file), { throwIfNoEntry: false })
      this.#hasReserve = found !== undefined && found.size >= this.#reserveBytes
      if (this.#hasReserve || !mayRestore) return
      // With some more, and room for the log, or the next settlements would release it again.
      const logBytes = statSync(`${this.#file}-wal`, { throwIfNoEntry: false })?.size ?? 0
      const besideBytes = Math.max(this.#reserveBytes / 4, tightLogBytes - logBytes)
      if (this.#freeBytes < this.#reserveBytes + besideBytes) return
      writeReserve(this.#file, this.#reserveBytes)
      this.#hasReserve = true
      this.#freeBytes -= this.#reserveBytes
    } catch {
      // Without the reserve sends are refused once the disk is nearly full.
    }
  }

  /** Frees the reserved room for the next write; false when there was none. */
  release(): boolean {
    this.#hasReserve = false
    return releaseReserve(this.#file)
  }

  /**
   * How many pages the store may have. Half of what is free, because a new page is written to the log
   * first and to the file later; and some of it stays free for transactions that only rewrite pages.
   */
  pageLimit({ adds }: { readonly adds: boolean }): number {
    const keptBytes = this.#reserveBytes / (adds ? 2 : 4)
    const growthBytes = Math.max(0, this.#freeBytes - keptBytes) / 2
    const fileBytes = statSync(this.#file, { throwIfNoEntry: false })?.size ?? 0
    return Math.min(pagesMax, Math.max(1, Math.floor((fileBytes + growthBytes) / pageBytes)))
  }
}

/** What the rest of the store asks of the disk. */
export type DiskLimits = Pick<
  DiskRoom,
  'looks' | 'isLow' | 'isFull' | 'look' | 'release' | 'pageLimit'
>

/** The room that the log and its index need. */
const openingBytes = 2 ** 16

/** Whether the disk of a file has no room for another file beside it. */
export function isDiskFull(file: string): boolean {
  try {
    // A disk that is read-only has no room either, and is not full.
    accessSync(dirname(file), constants.W_OK)
    const { blocks, bavail, bsize, files, ffree } = statfsSync(dirname(file))
    // Some file systems know neither their size nor how many files they take.
    return (blocks > 0 && bavail * bsize < openingBytes) || (files > 0 && ffree === 0)
  } catch {
    return false
  }
}

/** For a store that cannot be opened, or a lease that cannot be extended, because the disk is full. */
export function releaseReserve(file: string): boolean {
  try {
    rmSync(reserveOf(file))
    return true
  } catch {
    return false
  }
}

function reserveOf(file: string): string {
  return `${file}-reserve`
}

function randomChunk(): Uint8Array {
  const chunk = new Uint8Array(chunkBytes)
  // More than 64 KiB are refused at a time.
  for (let at = 0; at < chunkBytes; at += 2 ** 16) {
    crypto.getRandomValues(chunk.subarray(at, at + 2 ** 16))
  }
  return chunk
}

function writeReserve(file: string, bytes: number): void {
  const descriptor = openSync(reserveOf(file), 'w', 0o600)
  try {
    const chunk = randomChunk()
    for (let written = 0; written < bytes; ) {
      written += writeSync(descriptor, chunk, 0, Math.min(chunkBytes, bytes - written))
    }
  } catch (error) {
    releaseReserve(file)
    throw error
  } finally {
    closeSync(descriptor)
  }
}
