/**
 * Puts entries of separate calls together. Entries that arrive in the same turn, or while all calls to SQS are
 * busy, share calls of at most ten entries.
 */
import type { Timers } from '../../../core/ports.ts'
import { callsFor, entriesPerCall } from '../../../sqs/batch-call.ts'

export interface SharedCallsOptions<Entry, Result> {
  readonly timers: Timers
  /** Calls to SQS at the same time. One keeps the order of entries. */
  readonly callsMax: number
  /** Bytes that count towards the size of a call. */
  readonly bytesOf: (entry: Entry) => number
  /** Returns one result per entry, in their order. */
  readonly run: (entries: readonly Entry[]) => Promise<readonly Result[]>
}

interface Waiting<Entry, Result> {
  readonly entry: Entry
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

export class SharedCalls<Entry, Result> {
  readonly #options: SharedCallsOptions<Entry, Result>
  #waiting: Waiting<Entry, Result>[] = []
  #running = 0
  #isScheduled = false

  constructor(options: SharedCallsOptions<Entry, Result>) {
    this.#options = options
  }

  submit(entries: readonly Entry[]): Promise<readonly Result[]> {
    const results = entries.map(
      (entry) =>
        new Promise<Result>((resolve, reject) => {
          this.#waiting.push({ entry, resolve, reject })
        }),
    )
    if (!this.#isScheduled) {
      this.#isScheduled = true
      this.#options.timers.soon(() => {
        this.#isScheduled = false
        this.#start()
      })
    }
    return Promise.all(results)
  }

  #start(): void {
    while (this.#running < this.#options.callsMax && this.#waiting.length > 0) {
      const next = this.#waiting.slice(0, entriesPerCall)
      const [first = []] = callsFor(next.map(({ entry }) => this.#options.bytesOf(entry)))
      this.#waiting = this.#waiting.slice(first.length)
      this.#running += 1
      void this.#run(next.slice(0, first.length))
    }
  }

  async #run(some: readonly Waiting<Entry, Result>[]): Promise<void> {
    try {
      const results = await this.#options.run(some.map(({ entry }) => entry))
      for (const [index, { resolve }] of some.entries()) resolve(results[index] as Result)
    } catch (error) {
      for (const { reject } of some) reject(error)
    }
    this.#running -= 1
    this.#start()
  }
}
