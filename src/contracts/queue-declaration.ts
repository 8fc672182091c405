/**
 * How a queue is declared: `queue({...})` for a standard queue, `fifo({...})` for one that keeps the order
 * within each group. Both only store the options. `defineApp` checks them all together, so it reports every
 * mistake in an app at once.
 */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Duration } from '../core/durations.ts'
import type { KeyPath } from './key-paths.ts'

/** Any validator that implements Standard Schema: zod, valibot, arktype and others. */
export type MessageSchema<Input = unknown, Output = unknown> = StandardSchemaV1<Input, Output>

/**
 * Where the deduplication id of a FIFO message comes from: `'content'` is a hash of its body, `'explicit'` is
 * the sender.
 */
export type Deduplication = 'content' | 'explicit'

export interface QueueOptions<Schema extends MessageSchema = MessageSchema> {
  /** The schema of a message. Without it a message is any JSON value, typed `unknown`. */
  readonly schema?: Schema
  /** The name on the backend, instead of `{app}-{stage}-{queue}`. */
  readonly name?: string
  /** How long a new message waits before it can be received, at most 15m. Default: none. */
  readonly delay?: Duration
  /** How long a received message is hidden from other receivers, at most 12h. Default 30s. */
  readonly visibilityTimeout?: Duration
  /** How long a message is kept after it was sent, 1m to 14d. Default 4d. */
  readonly retention?: Duration
  /** How long a receive waits for a message, at most 20s. Default: none. */
  readonly receiveWait?: Duration
  /** The largest message, body and attributes together. Default and maximum: 1 MiB. */
  readonly maxMessageBytes?: number
  /** Where a message goes after too many receives. Default: none; it stays in the queue until it expires. */
  readonly deadLetter?: OwnDeadLetterQueue | SharedDeadLetterQueue
  readonly tags?: Readonly<Record<string, string>>
  /** How many messages may be handled at once, by all workers together. Default: no ceiling. */
  readonly concurrency?: number
  /** The same for each tenant, so that no tenant can use up the whole ceiling. Not on FIFO queues. */
  readonly tenantConcurrency?: number
  /** How many messages may be started within any span of time, by all workers together. Default: no limit. */
  readonly rate?: RateLimit
  /**
   * Limits for each value of a key in the message, such as each customer. At most 4 keys. Not on FIFO queues.
   */
  readonly limits?: readonly KeyLimit[]
  /** Names of the kill switches that stop this queue, such as `'LLM_PAUSED'`. */
  readonly obeys?: string | readonly string[]
  /** How long to wait before a failed attempt is retried. */
  readonly backoff?: Backoff
  /** How long a handler may run. Default: no limit. */
  readonly timeout?: Duration
  /**
   * Paths in the message, such as `'card.number'`, that are masked. A path covers every element of an array.
   */
  readonly secret?: readonly string[]
  /** Paths in the message that identify a person. They are masked like secrets. */
  readonly personal?: readonly string[]
  /**
   * Refuses messages with e-mail addresses, phone numbers, or fields named like a person's name. Default:
   * false.
   */
  readonly noPersonalData?: boolean
  /**
   * Whether a server that knows the app checks this queue's messages at the SQS endpoint: those that SQS
   * clients send, and those that SQS clients and Lambda functions receive. Default: true.
   */
  readonly checkOnWire?: boolean
}

export interface RateLimit {
  /** How many messages, 1 to 1,000,000. */
  readonly max: number
  /** The span of time, 100ms to 1d. */
  readonly per: Duration
}

/** A limit that each value of a key has for itself. It has `concurrency`, `rate` or both. */
export interface KeyLimit<Key extends string = string> {
  /**
   * The path to a text, a number or a boolean in the message, such as `'customer.id'`. A message without it is
   * not limited.
   */
  readonly key: Key
  /** How many messages with the same value may be handled at once, by all workers together. */
  readonly concurrency?: number
  /** How many messages with the same value may be started within any span of time. */
  readonly rate?: RateLimit
}

/** The keys of limits are paths in the message that the schema describes. */
export interface LimitsOf<Schema> {
  readonly limits?: readonly KeyLimit<
    Schema extends MessageSchema ? KeyPath<StandardSchemaV1.InferInput<NoInfer<Schema>>> : never
  >[]
}

/** Exponential backoff: each wait is `factor` times the one before. */
export interface Backoff {
  /** The wait after the first attempt. Default 5s. */
  readonly from?: Duration
  /** 1 to 10; 1 makes every wait the same. Default 2. */
  readonly factor?: number
  /** The longest wait. Default 1h, at most 12h. */
  readonly max?: Duration
  /** The random part of a wait, 0 to 1. Default 0.2. */
  readonly jitter?: number
}

/** A queue that declares where its dead letters go. */
export interface WithDeadLetters {
  readonly options: { readonly deadLetter: OwnDeadLetterQueue | SharedDeadLetterQueue }
}

/** A dead-letter queue for this queue alone, of the same type. Default name: `{queue}-dlq`. */
export interface OwnDeadLetterQueue {
  /**
   * Receives before a message is dead-lettered, 1 to 1000. Default 3. In a jobs queue, `attempts` counts
   * instead.
   */
  readonly after?: number
  readonly name?: string
  /** How long dead letters are kept. Default 14d. */
  readonly retention?: Duration
}

/** Makes another queue of the app the dead-letter queue. */
export interface SharedDeadLetterQueue {
  /**
   * Receives before a message is dead-lettered, 1 to 1000. Default 3. In a jobs queue, `attempts` counts
   * instead.
   */
  readonly after?: number
  /** The key of the other queue. */
  readonly queue: string
}

export interface FifoOptions<
  Schema extends MessageSchema = MessageSchema,
  By extends Deduplication = Deduplication,
> extends QueueOptions<Schema> {
  /** Where the deduplication id comes from. Default `'explicit'`: every send passes one. */
  readonly deduplication?: By
  /** Whether a deduplication id is unique in the whole queue or in its group. Default `'queue'`. */
  readonly deduplicationScope?: 'queue' | 'group'
}

export interface StandardQueue<Schema extends MessageSchema = MessageSchema> {
  readonly type: 'standard'
  readonly options: QueueOptions<Schema>
}

export interface FifoQueue<
  Schema extends MessageSchema = MessageSchema,
  By extends Deduplication = Deduplication,
> {
  readonly type: 'fifo'
  readonly options: FifoOptions<Schema, By>
}

export type DeclaredQueue = StandardQueue | FifoQueue

/** Queues by their keys in the app. */
export type DeclaredQueues = Readonly<Record<string, DeclaredQueue>>

/** The message that a sender may pass: the input side of the queue's schema. */
export type MessageInput<Queue extends DeclaredQueue> = StandardSchemaV1.InferInput<SchemaOf<Queue>>

/** The message that a receiver gets: the output side of the queue's schema. */
export type MessageOutput<Queue extends DeclaredQueue> = StandardSchemaV1.InferOutput<
  SchemaOf<Queue>
>

type SchemaOf<Queue extends DeclaredQueue> =
  Queue extends StandardQueue<infer Schema>
    ? Schema
    : Queue extends FifoQueue<infer Schema, infer _By>
      ? Schema
      : never

/** Declares a standard queue: at-least-once delivery, in no guaranteed order. */
export function queue<Schema extends MessageSchema = MessageSchema>(
  options: QueueOptions<Schema> & LimitsOf<Schema> & WithDeadLetters['options'],
): StandardQueue<Schema> & WithDeadLetters
export function queue<Schema extends MessageSchema = MessageSchema>(
  options?: QueueOptions<Schema> & LimitsOf<Schema>,
): StandardQueue<Schema>
export function queue(options: QueueOptions = {}): StandardQueue {
  return { type: 'standard', options }
}

/** Declares a FIFO queue: ordered within each group, and deduplicated for five minutes. */
export function fifo<
  Schema extends MessageSchema = MessageSchema,
  By extends Deduplication = 'explicit',
>(
  options: FifoOptions<Schema, By> & WithDeadLetters['options'],
): FifoQueue<Schema, By> & WithDeadLetters
export function fifo<
  Schema extends MessageSchema = MessageSchema,
  By extends Deduplication = 'explicit',
>(options?: FifoOptions<Schema, By>): FifoQueue<Schema, By>
export function fifo(options: FifoOptions = {}): FifoQueue {
  return { type: 'fifo', options }
}
