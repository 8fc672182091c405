/**
 * Batches that wait for further items. Each has a slot from its first item on. It starts when it is full or
 * when its window ends, and not while a claim for its queue is under way: that claim may still fill it.
 */
import { limits } from '../core/limits.ts'
import type { Timers } from '../core/ports.ts'
import type { Claimed } from './claims-ahead.ts'
import type { Source, Work } from './source.ts'

interface OpenBatch {
  readonly source: Source
  readonly work: Work
  readonly size: number
  readonly items: Claimed[]
  /** Whether its window has ended. */
  isDue: boolean
  cancelWindow: () => void
}

export interface OpenBatchesSetup {
  readonly timers: Timers
  /** Runs a batch in the slot that it has. */
  readonly run: (items: readonly Claimed[], source: Source) => void
}

export class OpenBatches {
  readonly #setup: OpenBatchesSetup
  readonly #open = new Map<Work, OpenBatch>()
  #isHurried = false

  constructor(setup: OpenBatchesSetup) {
    this.#setup = setup
  }

  /** How many deliveries of a queue can be claimed for this many free slots, whatever their job types. */
  room(source: Source, slots: number): number {
    const [only] = source.works
    if (source.isFifo && only?.batch !== undefined)
      return this.#fifoRoom(only, only.batch.size, slots)
    // The least deliveries that would need one slot more than there are, less one.
    const costs = source.works.map((work) => this.#left(work) + 1).toSorted((a, b) => a - b)
    const further = Math.min(...source.works.map(({ batch }) => batch?.size ?? 1))
    let room = -1
    for (let slot = 0; slot <= slots; slot += 1) room += Math.min(costs[slot] ?? further, further)
    return Math.min(room, limits.messagesPerCall.max)
  }

  /** One claim fills one batch, so that messages of a group are never in two batches at once. */
  #fifoRoom(work: Work, size: number, slots: number): number {
    return this.#left(work) || (slots > 0 ? size : 0)
  }

  /** How many items the open batch still takes. */
  #left(work: Work): number {
    const open = this.#open.get(work)
    return open === undefined ? 0 : open.size - open.items.length
  }

  /** Returns whether it needed a slot, because it is the first item of a batch. */
  add(claimed: Claimed, work: Work, { size, windowMs }: NonNullable<Work['batch']>): boolean {
    const { source } = claimed
    const open = this.#open.get(work)
    const batch = open ?? this.#begin(source, work, size, windowMs)
    batch.items.push(claimed)
    if (batch.items.length === size) this.#run(batch)
    return open === undefined
  }

  #begin(source: Source, work: Work, size: number, windowMs: number): OpenBatch {
    const isDue = windowMs === 0 || this.#isHurried
    const batch: OpenBatch = { source, work, size, items: [], isDue, cancelWindow: () => undefined }
    this.#open.set(work, batch)
    if (isDue) return batch
    batch.cancelWindow = this.#setup.timers.after(windowMs, () => {
      batch.isDue = true
      if (source.state !== 'claiming') this.runDue(source)
    })
    return batch
  }

  #run(batch: OpenBatch): void {
    this.#close(batch)
    this.#setup.run(batch.items, batch.source)
  }

  #close(batch: OpenBatch): void {
    batch.cancelWindow()
    this.#open.delete(batch.work)
  }

  /** Starts the batches of a queue whose window has ended. */
  runDue(source: Source): void {
    for (const batch of [...this.#open.values()]) {
      if (batch.source === source && batch.isDue) this.#run(batch)
    }
  }

  /** Ends all windows now. */
  endWindows(): void {
    for (const batch of this.#open.values()) batch.isDue = true
    const sources = new Set([...this.#open.values()].map(({ source }) => source))
    for (const source of sources) if (source.state !== 'claiming') this.runDue(source)
  }

  /** From now on no batch waits. */
  hurry(): void {
    this.#isHurried = true
    this.endWindows()
  }

  /** Removes all batches and returns their items, one list for each. */
  clear(): readonly (readonly Claimed[])[] {
    const open = [...this.#open.values()]
    for (const batch of open) this.#close(batch)
    return open.map(({ items }) => items)
  }
}
