/**
 * Queues and consumers in the form that the doctor's rules need: with all settings, and linked to each other.
 */
import { defaultQueueSettings, type QueueSettings } from '../core/queue-settings.ts'

export interface ExaminedQueues {
  readonly queues: readonly ExaminedQueue[]
  /** Functions that queues invoke, as on Lambda. */
  readonly consumers: readonly ExaminedConsumer[]
  /** The store that has the queues. Absent if they are only declared. */
  readonly store?: ExaminedStore
}

export interface ExaminedStore {
  /** The kind of store: `postgres`. */
  readonly name: string
  /** Whether Millrace can copy it. */
  readonly backups: boolean
}

export interface ExaminedQueue {
  readonly name: string
  /** Settings that were declared. The others have the defaults of SQS. */
  readonly settings: Partial<QueueSettings>
  /** Whether something other than these consumers receives from the queue. */
  readonly isConsumed?: boolean
  /** Whether its messages are tracked jobs. */
  readonly hasJobs?: boolean
  /** Whether an alarm watches its depth. Undefined if unknown. */
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
  /** The reserved concurrency of the function, shared by all of its queues. */
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
  readonly store: ExaminedStore | undefined
}

export interface QueueFacts {
  readonly name: string
  readonly settings: QueueSettings
  /** Its dead-letter queue, if that was examined too. */
  readonly deadLetters: QueueFacts | undefined
  /** Names of the other queues that use it as their dead-letter queue. */
  readonly sources: readonly string[]
  readonly consumers: readonly ExaminedConsumer[]
  readonly isConsumed: boolean
  readonly hasJobs: boolean
  readonly isWatched: boolean | undefined
  readonly place: Placed
}

export interface ConsumerFacts {
  readonly consumer: ExaminedConsumer
  /** Undefined if the queue was not examined. */
  readonly queue: QueueFacts | undefined
  readonly place: Placed
}

/** Spread into an observation. */
export type Placed = { readonly at: ExaminedPlace } | Record<never, never>

export function factsOf({ queues, consumers, store }: ExaminedQueues): ExaminedFacts {
  const byName = new Map<string, QueueFacts>()
  for (const queue of queues) {
    const sources = queues.filter(
      ({ name, settings }) => name !== queue.name && settings.deadLetter?.queue === queue.name,
    )
    const own = consumers.filter((consumer) => consumer.queue === queue.name)
    byName.set(queue.name, {
      name: queue.name,
      settings: { type: 'standard', ...defaultQueueSettings, ...queue.settings },
      // A getter, because not all queues are known yet.
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
    store,
  }
}

function placed(at: ExaminedPlace | undefined): Placed {
  return at === undefined ? {} : { at }
}
