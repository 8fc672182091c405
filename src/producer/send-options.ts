/** Options of a send. Standard and FIFO queues have different ones. */
import type { MessageAttribute, NewMessage } from '../backends/backend.ts'
import type { DeclaredQueue, FifoQueue } from '../contracts/queue-declaration.ts'
import { type Duration, durationMs } from '../core/durations.ts'

export interface StandardSendOptions {
  /** Overrides the queue's delay. At most 15m. */
  readonly delay?: Duration
  /** The tenant that it counts for; SQS clients see it as the message group. */
  readonly tenant?: string
  readonly attributes?: Readonly<Record<string, MessageAttribute>>
}

export interface FifoSendOptions {
  /** Messages of one group are received in the order they were sent. */
  readonly group: string
  /** A second send with the same id within five minutes stores nothing. Default: a hash of the body. */
  readonly deduplicationId?: string
  readonly attributes?: Readonly<Record<string, MessageAttribute>>
}

/** For queues with `deduplication: 'explicit'`, where each send names its id. */
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
  const { delay, tenant, group = tenant, deduplicationId, attributes } = options
  return {
    body,
    ...(delay === undefined ? {} : { delayMs: durationMs(delay, 'delay') }),
    ...(group === undefined ? {} : { group }),
    ...(deduplicationId === undefined ? {} : { deduplicationId }),
    ...(attributes === undefined ? {} : { attributes }),
  }
}
