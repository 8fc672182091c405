/**
 * Renews leases from a thread of its own when the event loop is blocked, so that a handler which
 * computes for longer than its lease does not lose it. Both threads share a table of what is held;
 * noting a lease there costs next to nothing, and the thread acts only on leases that the event loop
 * has let come close to their end.
 */
import { Worker } from 'node:worker_threads'
import type { OtherThread } from '../backends/backend.ts'
import { LeaseTable, monotonicMs } from './lease-table.ts'

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
  readonly #table: LeaseTable
  readonly #queues: ReadonlyMap<string, number>
  readonly #free: number[]
  readonly #thread: Worker

  constructor(setup: LeaseGuardSetup) {
    const table = LeaseTable.allocate(setup.slots)
    this.#table = new LeaseTable(table)
    this.#queues = new Map(setup.queues.map((name, index) => [name, index]))
    this.#free = Array.from({ length: setup.slots }, (_, index) => index)
    const workerData: GuardThreadData = { ...setup, table }
    // Beside this file, whether that is the source or what was built from it.
    const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
    this.#thread = new Worker(new URL(`./lease-guard-thread.${extension}`, import.meta.url), {
      workerData,
      name: 'millrace lease guard',
      resourceLimits: { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 4 },
    })
    // Leases are then renewed by the event loop alone, as without a guard.
    this.#thread.on('error', () => undefined)
    this.#thread.unref()
  }

  /** Notes a lease; the answer names its place, or is -1 when there is none for it. */
  hold(queue: string, receipt: string, visibilityMs: number): number {
    const index = this.#queues.get(queue)
    const slot = this.#free.pop()
    if (slot === undefined || index === undefined) {
      if (slot !== undefined) this.#free.push(slot)
      return -1
    }
    const noted = this.#table.write(slot, { queue: index, receipt, visibilityMs })
    if (noted) return slot
    this.#free.push(slot)
    return -1
  }

  renewed(slot: number, visibilityMs: number): void {
    if (slot >= 0) this.#table.setExpiry(slot, monotonicMs() + visibilityMs)
  }

  /** How long a lease has left; 0 when it was lost, or has no place here. */
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

  async stop(): Promise<void> {
    this.#table.close()
    await this.#thread.terminate()
  }
}
