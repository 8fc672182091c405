/**
 * Renews leases from a separate thread while the event loop is blocked, so that a handler that computes for
 * longer than its lease does not lose it. It also releases jobs that wait behind such a handler. Both threads
 * share a table of leases; an entry costs about a microsecond. The thread starts with the first lease, so an
 * idle worker does not pay for it.
 */
import { Worker } from 'node:worker_threads'
import type { OtherThread } from '../backends/backend.ts'
import { type LeaseEntry, LeaseTable, monotonicMs } from './lease-table.ts'

/** Shorter leases may expire while the thread starts, so for them it starts with the worker. */
const shortLeaseMs = 10_000

/** How long the thread may take to end, if the store does not answer it. */
const endMsMax = 5_000

export interface LeaseGuardSetup {
  readonly store: OtherThread
  /** How many leases can be held at once. */
  readonly slots: number
  /** The names of all queues, on the backend. */
  readonly queues: readonly string[]
  /** The shortest lease among them. */
  readonly leaseMsMin: number
}

/** What the thread is started with. */
export interface GuardThreadData extends LeaseGuardSetup {
  readonly table: SharedArrayBuffer
}

export class LeaseGuard {
  readonly #setup: LeaseGuardSetup
  readonly #shared: SharedArrayBuffer
  readonly #table: LeaseTable
  readonly #queues: ReadonlyMap<string, number>
  readonly #free: number[]
  #thread: GuardThread | undefined

  constructor(setup: LeaseGuardSetup) {
    this.#setup = setup
    this.#shared = LeaseTable.allocate(setup.slots)
    this.#table = new LeaseTable(this.#shared)
    this.#queues = new Map(setup.queues.map((name, index) => [name, index]))
    this.#free = Array.from({ length: setup.slots }, (_, index) => index)
    if (setup.leaseMsMin < shortLeaseMs) this.#start()
  }

  /** Adds a lease. Returns its slot, or -1 if there is no room for it. */
  hold(lease: Omit<LeaseEntry, 'queue'> & { readonly queue: string }): number {
    this.#start()
    const queue = this.#queues.get(lease.queue)
    const slot = this.#free.pop()
    if (slot === undefined || queue === undefined) {
      if (slot !== undefined) this.#free.push(slot)
      return -1
    }
    if (this.#table.write(slot, { ...lease, queue })) return slot
    this.#free.push(slot)
    return -1
  }

  /** Marks a waiting lease as running. Returns false if the thread has released it. */
  start(slot: number): boolean {
    return slot < 0 || this.#table.start(slot)
  }

  renewed(slot: number, visibilityMs: number): void {
    if (slot >= 0) this.#table.setExpiry(slot, monotonicMs() + visibilityMs)
  }

  /** How long a lease has left; 0 if it was lost or is not in the table. */
  remainingMs(slot: number): number {
    if (slot < 0) return 0
    const remainingMs = this.#table.expiry(slot) - monotonicMs()
    return Number.isFinite(remainingMs) ? Math.max(0, remainingMs) : 0
  }

  drop(slot: number): void {
    if (slot < 0) return
    this.#table.clear(slot)
    this.#free.push(slot)
  }

  #start(): void {
    const { module, options } = this.#setup.store
    // Copied by name: what is not listed in a loop is not copied to a thread.
    const store = { module, options }
    this.#thread ??= startThread({ ...this.#setup, store, table: this.#shared })
  }

  /** Resolves when the thread has ended. It first finishes a release that is under way. */
  async stop(): Promise<void> {
    this.#table.close()
    if (this.#thread === undefined) return
    const { worker, ended } = this.#thread
    worker.ref()
    const late = setTimeout(() => void worker.terminate(), endMsMax)
    await ended
    clearTimeout(late)
  }
}

interface GuardThread {
  readonly worker: Worker
  readonly ended: Promise<void>
}

function startThread(workerData: GuardThreadData): GuardThread {
  // Next to this file, both in the source and in the build.
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
  const thread = new Worker(new URL(`./lease-guard-thread.${extension}`, import.meta.url), {
    workerData,
    name: 'millrace lease guard',
    resourceLimits: { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 4 },
  })
  // Without the thread, only the event loop renews leases.
  thread.on('error', () => undefined)
  thread.unref()
  return { worker: thread, ended: new Promise((resolve) => thread.once('exit', () => resolve())) }
}
