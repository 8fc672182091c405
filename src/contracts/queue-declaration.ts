/**
 * How a queue is declared: `queue({...})` for a standard queue, `fifo({...})` for one that keeps the
 * order within each group. Both only remember what was written; `defineApp` checks all of it
 * together, so that every mistake of an app is reported at once.
 */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Duration } from '../core/durations.ts'

/** Any validator that speaks Standard Schema: zod, valibot, arktype and others. */
export type MessageSchema<Input = unknown, Output = unknown> = StandardSchemaV1<Input, Output>

/** Where the deduplication id of a FIFO message comes from: a hash of its body, or the sender. */
export type Deduplication = 'content' | 'explicit'

export interface QueueOptions<Schema extends MessageSchema = MessageSchema> {
  /** The schema of a message. Without it a message is any JSON value, typed `unknown`. */
  readonly schema?: Schema
  /** The name on the backend, instead of `{app}-{stage}-{queue}`. */
  readonly name?: string
  /** How long a new message waits before it can be received. Default none, at most 15m. */
  readonly delay?: Duration
  /** How long a received message is hidden from others. Default 30s, at most 12h. */
  readonly visibilityTimeout?: Duration
  /** How long a message is kept, counted from its send. Default 4d, from 1m to 14d. */
  readonly retention?: Duration
  /** How long a receive waits for a message. Default none, at most 20s. */
  readonly receiveWait?: Duration
  /** The largest message, body and attributes together. Default and most: 1 MiB. */
  readonly maxMessageBytes?: number
  /** Where a message goes after too many receives. Default nowhere: it stays until it expires. */
  readonly deadLetter?: OwnDeadLetterQueue | SharedDeadLetterQueue
  readonly tags?: Readonly<Record<string, string>>
  /** How many may be worked on at once by all workers together. Default: no ceiling. */
  readonly concurrency?: number
  /** The same for each tenant, so that none takes all the room. Not on FIFO queues. */
  readonly tenantConcurrency?: number
  /** How many may be started within any span of time, by all workers together. */
  readonly rate?: RateLimit
  /** Names of the kill switches that stop this queue, such as `'LLM_PAUSED'`. */
  readonly obeys?: string | readonly string[]
  /** How long to wait before a failed attempt is repeated. */
  readonly backoff?: Backoff
  /** How long a handler may take. Default: as long as it likes. */
  readonly timeout?: Duration
  /** Paths in the message, such as `'card.number'`, that are masked. In an array each element counts. */
  readonly secret?: readonly string[]
  /** Paths in the message that tell who somebody is. They are masked like secrets. */
  readonly personal?: readonly string[]
  /** Refuses bodies with e-mail addresses, phone numbers, or fields named like a person's name. */
  readonly noPersonalData?: boolean
  /**
   * Whether a server that knows the app checks what SQS clients send to this queue, and what they and
   * Lambda functions receive from it. Default: true.
   */
  readonly checkOnWire?: boolean
}

export interface RateLimit {
  /** 1 to 1,000,000. */
  readonly max: number
  /** From 100ms to 1d. */
  readonly per: Duration
}

/** Exponential: each wait is `factor` times the one before. */
export interface Backoff {
  /** The wait after the first attempt. Default 5s. */
  readonly from?: Duration
  /** 1 to 10; 1 makes every wait the same. Default 2. */
  readonly factor?: number
  /** The longest wait. Default 1h, at most 12h. */
  readonly max?: Duration
  /** The part of a wait that is left to chance, 0 to 1. Default 0.2. */
  readonly jitter?: number
}

/** A queue that declares where its dead letters go. */
export interface WithDeadLetters {
  readonly options: { readonly deadLetter: OwnDeadLetterQueue | SharedDeadLetterQueue }
}

/** A dead-letter queue made for this queue alone, of the same type, named `{queue}-dlq`. */
export interface OwnDeadLetterQueue {
  /** Receives before a message is moved, 1 to 1000. Default 3; a job's attempts count instead. */
  readonly after?: number
  readonly name?: string
  /** Default 14d. */
  readonly retention?: Duration
}

/** Another queue of the same app takes the dead letters. */
export interface SharedDeadLetterQueue {
  /** Receives before a message is moved, 1 to 1000. Default 3; a job's attempts count instead. */
  readonly after?: number
  /** The key under which the other queue is declared. */
  readonly queue: string
}

export interface FifoOptions<
  Schema extends MessageSchema = MessageSchema,
  By extends Deduplication = Deduplication,
> extends QueueOptions<Schema> {
  /** Default `'explicit'`: every send brings a deduplication id. */
  readonly deduplication?: By
  /** Whether a deduplication id counts for the whole queue (default) or within its group. */
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

/** By their keys in the app. */
export type DeclaredQueues = Readonly<Record<string, DeclaredQueue>>

/** What a sender may pass: the input side of the queue's schema. */
export type MessageInput<Queue extends DeclaredQueue> = StandardSchemaV1.InferInput<SchemaOf<Queue>>

/** What a receiver gets: the output side of the queue's schema. */
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
  options: QueueOptions<Schema> & WithDeadLetters['options'],
): StandardQueue<Schema> & WithDeadLetters
export function queue<Schema extends MessageSchema = MessageSchema>(
  options?: QueueOptions<Schema>,
): StandardQueue<Schema>
export function queue(options: QueueOptions = {}): StandardQueue {
  return { type: 'standard', options }
}

/** Declares a FIFO queue: in order within each group, and deduplicated for five minutes. */
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
