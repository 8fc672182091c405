/**
 * How a collector is declared. It stages the items of one key for a window, then merges them in order into
 * one message for a target queue.
 */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Duration } from '../core/durations.ts'
import type { MessageSchema, QueueOptions, WithDeadLetters } from './queue-declaration.ts'

export interface CollectorOptions<
  Item extends MessageSchema = MessageSchema,
  Target extends string = string,
> {
  /** The schema of an item. */
  readonly schema: Item
  /** The key of an item, such as the id of a conversation. Items with the same key are merged. */
  readonly key: (item: StandardSchemaV1.InferOutput<Item>) => string
  /** Unique among the items of a key. An item whose id was seen before is not merged again. */
  readonly id: (item: StandardSchemaV1.InferOutput<Item>) => string
  /** Items are merged in ascending order of this value: a number or a time. Default: order of arrival. */
  readonly order?: (item: StandardSchemaV1.InferOutput<Item>) => number | Date | string
  /** How long after the first item of a key the items are merged. At most 15m. */
  readonly window: Duration
  /**
   * Makes each further item restart the window, until this long after the first item. Default: it never
   * restarts.
   */
  readonly maxWait?: Duration
  /** This many items are merged at once, without waiting for the window. Default 100. */
  readonly maxItems?: number
  /** The same for the total size of the items as JSON. Default 256 KiB. */
  readonly maxBytes?: number
  /** How long ids are remembered after their items were merged. Default 24h. */
  readonly rememberFor?: Duration
  /** The key of the queue that carries the triggers, declared with `triggers({...})`. */
  readonly triggers: string
  /** Makes the body of a trigger. Default `{ key }`. */
  readonly trigger?: (key: string) => unknown
  /** Reads the key from a trigger that `trigger` made. Required with `trigger`. */
  readonly keyOf?: (trigger: unknown) => string
  /** The keys of the queues that merged messages may be sent to. */
  readonly targets: readonly Target[]
  /** Chooses one of the targets. Required if there are several. */
  readonly route?: (
    items: readonly StandardSchemaV1.InferOutput<Item>[],
    key: string,
  ) => NoInfer<Target>
  /** Merges the items, in order, into one message. It is checked against the contract of the target queue. */
  readonly merge: (
    items: readonly StandardSchemaV1.InferOutput<Item>[],
    key: string,
  ) => unknown | Promise<unknown>
}

export interface DeclaredCollector<
  Item extends MessageSchema = MessageSchema,
  Target extends string = string,
> {
  readonly kind: 'collector'
  readonly options: CollectorOptions<Item, Target>
}

// biome-ignore lint/suspicious/noExplicitAny: an item's type stands where it is taken and where it is given.
export type DeclaredCollectors = Readonly<Record<string, DeclaredCollector<any>>>

/** The type of item that can be added: the input side of the item's schema. */
export type ItemInput<Collector> =
  Collector extends DeclaredCollector<infer Item> ? StandardSchemaV1.InferInput<Item> : never

/** Declares a collector. */
export function collector<Item extends MessageSchema, const Target extends string = string>(
  options: CollectorOptions<Item, Target>,
): DeclaredCollector<Item, Target> {
  return { kind: 'collector', options }
}

/** A queue that carries the triggers of a collector. Workers that poll it need no handler for it. */
export interface TriggersQueue {
  readonly kind: 'triggers'
  readonly type: 'standard'
  readonly options: Omit<QueueOptions, 'schema' | 'limits'>
}

/** Declares a queue for the triggers of a collector. */
export function triggers(
  options: TriggersQueue['options'] & WithDeadLetters['options'],
): TriggersQueue & WithDeadLetters
export function triggers(options?: TriggersQueue['options']): TriggersQueue
export function triggers(options: TriggersQueue['options'] = {}): TriggersQueue {
  return { kind: 'triggers', type: 'standard', options }
}

export function isTriggersQueue(declared: object): declared is TriggersQueue {
  return 'kind' in declared && declared.kind === 'triggers'
}
