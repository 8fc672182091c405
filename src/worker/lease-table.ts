/**
 * Leases in memory that two threads share. The event loop writes. The guard's thread reads, and writes only
 * the end of a lease that it has renewed. Each entry has a version, which is odd during a write. It tells the
 * reader whether what it has read is consistent.
 */
const headerBytes = 32
/** Receipts of this store are far shorter. Those of other stores may be longer. */
const receiptBytesMax = 992
const entryBytes = headerBytes + receiptBytesMax
/** Before the entries: a flag that ends the thread, on which the thread also sleeps. */
const preambleBytes = 64

/** The phase of an entry. Both threads may move a waiting lease on; the first one wins. */
const leasePhase = { running: 0, waiting: 1, released: 2 } as const

export interface LeaseEntry {
  /** Index of the queue's name in a list that both threads have. */
  readonly queue: number
  readonly receipt: string
  readonly visibilityMs: number
  /** How much of it has passed; 0 by default. */
  readonly elapsedMs?: number
  /** Whether its handler has not started yet; false by default. */
  readonly isWaiting?: boolean
}

export interface ReadEntry extends Pick<LeaseEntry, 'queue' | 'receipt' | 'visibilityMs'> {
  /** If the version has changed, the slot holds another lease. */
  readonly version: number
}

/** The same in all threads of a process, unlike `performance.now`. */
export function monotonicMs(): number {
  const [seconds, nanoseconds] = process.hrtime()
  return seconds * 1_000 + nanoseconds / 1_000_000
}

export class LeaseTable {
  readonly slots: number
  readonly #ints: Int32Array
  readonly #floats: Float64Array
  readonly #bytes: Uint8Array
  readonly #encoder = new TextEncoder()
  readonly #decoder = new TextDecoder()

  constructor(shared: SharedArrayBuffer) {
    this.#ints = new Int32Array(shared)
    this.#floats = new Float64Array(shared)
    this.#bytes = new Uint8Array(shared)
    this.slots = (shared.byteLength - preambleBytes) / entryBytes
  }

  static allocate(slots: number): SharedArrayBuffer {
    return new SharedArrayBuffer(preambleBytes + slots * entryBytes)
  }

  /** Returns false if the receipt is too long for the table. */
  write(slot: number, entry: LeaseEntry): boolean {
    const { queue, receipt, visibilityMs, elapsedMs = 0, isWaiting = false } = entry
    const at = intAt(slot)
    const start = preambleBytes + slot * entryBytes + headerBytes
    Atomics.add(this.#ints, at, 1)
    const { read, written } = this.#encoder.encodeInto(
      receipt,
      this.#bytes.subarray(start, start + receiptBytesMax),
    )
    const fits = read === receipt.length
    this.#ints[at + 1] = fits ? written : 0
    this.#ints[at + 2] = queue
    this.#ints[at + 3] = visibilityMs
    this.#ints[at + 6] = isWaiting ? leasePhase.waiting : leasePhase.running
    this.#floats[(at >> 1) + 2] = monotonicMs() - elapsedMs + visibilityMs
    Atomics.add(this.#ints, at, 1)
    return fits
  }

  /** Takes a waiting lease to run it. Returns false if the other thread is releasing it. */
  start(slot: number): boolean {
    return this.#leaveWaiting(slot, leasePhase.running) !== leasePhase.released
  }

  /** Takes a waiting lease to release it. Returns false if it is not waiting. */
  release(slot: number): boolean {
    return this.#leaveWaiting(slot, leasePhase.released) === leasePhase.waiting
  }

  /** Marks a lease as waiting again after it could not be released. */
  keepWaiting(slot: number): void {
    Atomics.compareExchange(this.#ints, intAt(slot) + 6, leasePhase.released, leasePhase.waiting)
  }

  isWaiting(slot: number): boolean {
    return Atomics.load(this.#ints, intAt(slot) + 6) === leasePhase.waiting
  }

  #leaveWaiting(slot: number, phase: number): number {
    return Atomics.compareExchange(this.#ints, intAt(slot) + 6, leasePhase.waiting, phase)
  }

  clear(slot: number): void {
    Atomics.store(this.#ints, intAt(slot) + 1, 0)
  }

  /** When the lease ends, on the clock that all threads share; 0 if the slot is empty. */
  expiry(slot: number): number {
    const at = intAt(slot)
    if (Atomics.load(this.#ints, at + 1) === 0) return 0
    return this.#floats[(at >> 1) + 2] ?? 0
  }

  /** Rises when another lease is put into the slot. */
  version(slot: number): number {
    return Atomics.load(this.#ints, intAt(slot))
  }

  /** Index of the queue's name. */
  queue(slot: number): number {
    return this.#ints[intAt(slot) + 2] ?? 0
  }

  visibilityMs(slot: number): number {
    return this.#ints[intAt(slot) + 3] ?? 0
  }

  setExpiry(slot: number, ms: number, version?: number): void {
    const at = intAt(slot)
    if (version !== undefined && Atomics.load(this.#ints, at) !== version) return
    this.#floats[(at >> 1) + 2] = ms
  }

  /** The lease in a slot; undefined if the slot is empty or is being written. */
  read(slot: number): ReadEntry | undefined {
    const at = intAt(slot)
    const version = Atomics.load(this.#ints, at)
    const length = this.#ints[at + 1] ?? 0
    if ((version & 1) === 1 || length === 0) return undefined
    const start = preambleBytes + slot * entryBytes + headerBytes
    // A decoder does not accept shared memory.
    const receipt = this.#decoder.decode(this.#bytes.slice(start, start + length))
    const queue = this.#ints[at + 2] ?? 0
    const entry = { receipt, queue, visibilityMs: this.#ints[at + 3] ?? 0, version }
    return Atomics.load(this.#ints, at) === version ? entry : undefined
  }

  /** Tells the reading thread to end. */
  close(): void {
    Atomics.store(this.#ints, 0, 1)
    Atomics.notify(this.#ints, 0)
  }

  /** Blocks the calling thread for a while. Returns true if the thread should end. */
  sleep(ms: number): boolean {
    Atomics.wait(this.#ints, 0, 0, ms)
    return Atomics.load(this.#ints, 0) === 1
  }
}

function intAt(slot: number): number {
  return (preambleBytes + slot * entryBytes) / 4
}
