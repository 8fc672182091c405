/** What may be said about a message beside its contents. Each type of queue has its own set. */
import type { MessageAttribute, NewMessage } from '../backends/backend.ts'
import type { DeclaredQueue, FifoQueue } from '../contracts/queue-declaration.ts'
import { type Duration, durationMs } from '../core/durations.ts'

export interface StandardSendOptions {
  /** Overrides the delay of the queue. At most 15m. */
  readonly delay?: Duration
  /** Whose message it is: a tenant, a customer. */
  readonly group?: string
  readonly attributes?: Readonly<Record<string, MessageAttribute>>
}

export interface FifoSendOptions {
  /** Messages of one group are received in the order in which they were sent. */
  readonly group: string
  /** Messages with one id within five minutes are one message. Default: a hash of the body. */
  readonly deduplicationId?: string
  readonly attributes?: Readonly<Record<string, MessageAttribute>>
}

/** On a queue with `deduplication: 'explicit'`, where every message brings its own id. */
export interface ExplicitFifoSendOptions extends FifoSendOptions {
  readonly deduplicationId: string
}

export type SendOptions<Queue extends DeclaredQueue> =
  Queue extends FifoQueue<infer _Schema, infer By>
    ? 'explicit' extends By
      ? ExplicitFifoSendOptions
      : FifoSendOptions
    : StandardSendOptions

/** All options of all queues, as they arrive at run time. */
export type AnySendOptions = StandardSendOptions & Partial<FifoSendOptions>

export function newMessage(body: string, options: AnySendOptions): NewMessage {
  const { delay, group, deduplicationId, attributes } = options
  return {
    body,
    ...(delay === undefined ? {} : { delayMs: durationMs(delay, 'delay') }),
    ...(group === undefined ? {} : { group }),
    ...(deduplicationId === undefined ? {} : { deduplicationId }),
    ...(attributes === undefined ? {} : { attributes }),
  }
}
