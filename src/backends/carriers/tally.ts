/** What happened to messages that only a carrier knows, until the store counts it. */
import type { QueueCounter } from '../../core/queue-counters.ts'
import type { CarriedStore } from '../carried-store.ts'

export class Tally {
  readonly #carried: CarriedStore
  #counts = new Map<string, Partial<Record<QueueCounter, number>>>()

  constructor(carried: CarriedStore) {
    this.#carried = carried
  }

  add(queue: string, counter: QueueCounter, count: number): void {
    const counts = this.#counts.get(queue) ?? {}
    counts[counter] = (counts[counter] ?? 0) + count
    this.#counts.set(queue, counts)
  }

  async flush(): Promise<void> {
    const pending = [...this.#counts]
    this.#counts = new Map()
    for (const [queue, counts] of pending) {
      // A queue that was deleted meanwhile has nothing to count.
      await this.#carried.note({ queue, counts }).catch(() => undefined)
    }
  }
}
