/**
 * Counts the outcomes of handlers in this process, per queue, until the sampler writes them to the store. It
 * runs for every attempt, so it updates counters in place.
 */
import { durationBucket, durationBuckets } from '../core/duration-buckets.ts'
import {
  type AttemptEnding,
  addHandlers,
  type DurationFigures,
  type HandlerFigures,
  handlerFigures,
} from '../core/handler-figures.ts'
import type { Transition } from './transition-log.ts'

export interface TalliedQueue {
  /** The queue's name in the store. */
  readonly queue: string
  readonly handlers: HandlerFigures
}

export class HandlerTally {
  readonly #nameOf: (key: string) => string | undefined
  #queues = new Map<string, Tally>()
  #returned = new Map<string, HandlerFigures>()

  /** @param nameOf returns the name in the store for the key of a queue */
  constructor(nameOf: (key: string) => string | undefined) {
    this.#nameOf = nameOf
  }

  note({ event, queue, durationMs, waitedMs }: NotedTransition): void {
    const tally = this.#tallyOf(queue)
    if (event === 'started') {
      if (waitedMs !== null) tally.waits.add(waitedMs)
      return
    }
    tally.endings[event] = (tally.endings[event] ?? 0) + 1
    // Refused work has not run.
    if (event !== 'refused') tally.runs.add(durationMs)
  }

  /** Returns the counts since the last call. */
  take(): readonly TalliedQueue[] {
    const taken = this.#returned
    for (const [key, { endings, runs, waits }] of this.#queues) {
      const name = this.#nameOf(key)
      if (name === undefined) continue
      add(taken, name, handlerFigures(endings, runs.figures(), waits.figures()))
    }
    this.#queues = new Map()
    this.#returned = new Map()
    return [...taken].map(([queue, handlers]) => ({ queue, handlers }))
  }

  /** Adds counts again that could not be written. */
  putBack(figures: readonly TalliedQueue[]): void {
    for (const { queue, handlers } of figures) add(this.#returned, queue, handlers)
  }

  #tallyOf(queue: string): Tally {
    let tally = this.#queues.get(queue)
    if (tally === undefined) {
      tally = { endings: {}, runs: new Durations(), waits: new Durations() }
      this.#queues.set(queue, tally)
    }
    return tally
  }
}

type NotedTransition = Pick<Transition, 'event' | 'queue' | 'durationMs' | 'waitedMs'>

interface Tally {
  readonly endings: Partial<Record<AttemptEnding, number>>
  readonly runs: Durations
  readonly waits: Durations
}

class Durations {
  readonly #buckets: number[] = Array.from({ length: durationBuckets }, () => 0)
  #count = 0
  #msSum = 0
  #msMax = 0

  add(ms: number): void {
    const index = durationBucket(ms)
    this.#buckets[index] = (this.#buckets[index] ?? 0) + 1
    this.#count += 1
    this.#msSum += ms
    this.#msMax = Math.max(this.#msMax, ms)
  }

  figures(): DurationFigures {
    const [count, msSum, msMax] = [this.#count, this.#msSum, this.#msMax]
    return { count, msSum, msMax, buckets: [...this.#buckets] }
  }
}

function add(into: Map<string, HandlerFigures>, queue: string, figures: HandlerFigures): void {
  const before = into.get(queue)
  into.set(queue, before === undefined ? figures : addHandlers(before, figures))
}
