/** A resolved as the doctor's rules want it: settings in full, and who belongs to whom. */
import { defaultQueueSettings, type QueueSettings } from '../core/queue-settings.ts'

export interface ExaminedQueues {
  readonly queues: readonly ExaminedQueue[]
  /** Functions that queues feed, as Lambda does it. */
  readonly consumers: readonly ExaminedConsumer[]
}

export interface ExaminedQueue {
  readonly name: string
  /** What was said; the rest is as SQS has it. */
  readonly settings: Partial<QueueSettings>
  /** Whether somebody other than the consumers takes messages out of it. */
  readonly isConsumed?: boolean
  /** Whether its messages are tracked jobs. */
  readonly hasJobs?: boolean
  /** Whether an alarm watches its depth; undefined when that is not known here. */
  readonly isWatched?: boolean
  readonly at?: ExaminedPlace
}

export interface ExaminedConsumer {
  /** The function. One function may have several queues. */
  readonly name: string
  readonly queue: string
  readonly timeoutMs: number
  readonly batchSize: number
  readonly batchingWindowMs: number
  readonly maximumConcurrency: number | null
  /** Of the function, for all of its queues together. */
  readonly reservedConcurrency: number | null
  readonly reportsBatchItemFailures: boolean
  readonly at?: ExaminedPlace
}

export interface ExaminedPlace {
  readonly file: string
  readonly line: number
  readonly column: number
}

export interface ExaminedFacts {
  readonly queues: readonly QueueFacts[]
  readonly consumers: readonly ConsumerFacts[]
}

export interface QueueFacts {
  readonly name: string
  readonly settings: QueueSettings
  /** Its dead-letter queue, when it was examined too. */
  readonly deadLetters: QueueFacts | undefined
  /** Names of the other queues whose dead letters it takes. */
  readonly sources: readonly string[]
  readonly consumers: readonly ExaminedConsumer[]
  readonly isConsumed: boolean
  readonly hasJobs: boolean
  readonly isWatched: boolean | undefined
  readonly place: Placed
}

export interface ConsumerFacts {
  readonly consumer: ExaminedConsumer
  /** Undefined when the queue was not examined. */
  readonly queue: QueueFacts | undefined
  readonly place: Placed
}

/** Spread into an observation. */
export type Placed = { readonly at: ExaminedPlace } | Record<never, never>

export function factsOf({ queues, consumers }: ExaminedQueues): ExaminedFacts {
  const byName = new Map<string, QueueFacts>()
  for (const queue of queues) {
    const sources = queues.filter(
      ({ name, settings }) => name !== queue.name && settings.deadLetter?.queue === queue.name,
    )
    const own = consumers.filter((consumer) => consumer.queue === queue.name)
    byName.set(queue.name, {
      name: queue.name,
      settings: { type: 'standard', ...defaultQueueSettings, ...queue.settings },
      // Asked for later, when all queues are known.
      get deadLetters() {
        return byName.get(queue.settings.deadLetter?.queue ?? '')
      },
      sources: sources.map(({ name }) => name),
      consumers: own,
      isConsumed: queue.isConsumed === true || own.length > 0,
      hasJobs: queue.hasJobs === true,
      isWatched: queue.isWatched,
      place: placed(queue.at),
    })
  }
  return {
    queues: [...byName.values()],
    consumers: consumers.map((consumer) => ({
      consumer,
      queue: byName.get(consumer.queue),
      place: placed(consumer.at),
    })),
  }
}

function placed(at: ExaminedPlace | undefined): Placed {
  return at === undefined ? {} : { at }
}
