/**
 * How a collector is declared: items of one key are staged for a window, and then merged, in order,
 * into one message for the queue that they are routed to.
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
  /** What items have in common that are merged: a conversation. */
  readonly key: (item: StandardSchemaV1.InferOutput<Item>) => string
  /** What tells items of one key apart; an id that came before is not merged again. */
  readonly id: (item: StandardSchemaV1.InferOutput<Item>) => string
  /** Items are merged by rising order: a number, or a time. Default: as they arrived. */
  readonly order?: (item: StandardSchemaV1.InferOutput<Item>) => number | Date | string
  /** From the first item of a key to the merge. At most 15m. */
  readonly window: Duration
  /** With it, each further item begins the window anew, until this long after the first. */
  readonly maxWait?: Duration
  /** So many items are merged without waiting for the window. Default 100. */
  readonly maxItems?: number
  /** The same for the size of the items' JSON. Default 256 KiB. */
  readonly maxBytes?: number
  /** How long ids are remembered after their items were merged. Default 24h. */
  readonly rememberFor?: Duration
  /** The key of the queue that carries the triggers, declared with `triggers({...})`. */
  readonly triggers: string
  /** What a trigger says. Default `{ key }`. */
  readonly trigger?: (key: string) => unknown
  /** The key that a trigger is about, as `trigger` wrote it. Needed with `trigger`. */
  readonly keyOf?: (trigger: unknown) => string
  /** The keys of the queues that merged messages may go to. */
  readonly targets: readonly Target[]
  /** Which of them, when there are several. */
  readonly route?: (
    items: readonly StandardSchemaV1.InferOutput<Item>[],
    key: string,
  ) => NoInfer<Target>
  /** Makes one message of the items, in order; it is checked against the target's contract. */
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

/** What may be collected: the input side of the item's schema. */
export type ItemInput<Collector> =
  Collector extends DeclaredCollector<infer Item> ? StandardSchemaV1.InferInput<Item> : never

/** Declares a collector. */
export function collector<Item extends MessageSchema, const Target extends string = string>(
  options: CollectorOptions<Item, Target>,
): DeclaredCollector<Item, Target> {
  return { kind: 'collector', options }
}

/** A queue that carries the triggers of collectors. A worker that polls it needs no handler for it. */
export interface TriggersQueue {
  readonly kind: 'triggers'
  readonly type: 'standard'
  readonly options: Omit<QueueOptions, 'schema'>
}

/** Declares the queue of a collector's triggers. */
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
