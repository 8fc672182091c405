/** Options of a send. Standard and FIFO queues have different ones. */
import type { MessageAttribute, NewMessage } from '../backends/backend.ts'
import type { DeclaredQueue, FifoQueue } from '../contracts/queue-declaration.ts'
import { type DueOptions, dueOf } from '../core/due-options.ts'
import { type OptionNames, refuseUnknownOptions } from '../core/options.ts'
import type { Clock } from '../core/ports.ts'

export interface StandardSendOptions extends DueOptions {
  /** The tenant that the message counts for. SQS clients see it as the message group. */
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

/** For queues with `deduplication: 'explicit'`, where each send passes an id. */
export interface ExplicitFifoSendOptions extends FifoSendOptions {
  readonly deduplicationId: string
}

export type SendOptions<Queue extends DeclaredQueue> =
  Queue extends FifoQueue<infer _Schema, infer By>
    ? 'explicit' extends By
      ? ExplicitFifoSendOptions
      : FifoSendOptions
    : StandardSendOptions

/** The options of all kinds of queues. */
export type AnySendOptions = StandardSendOptions & Partial<FifoSendOptions>

const standardOptions: OptionNames<StandardSendOptions> = {
  delay: true,
  runAt: true,
  tenant: true,
  attributes: true,
}
const fifoOptions: OptionNames<FifoSendOptions> = {
  group: true,
  deduplicationId: true,
  attributes: true,
}

/** Refuses options that this kind of queue does not have. */
export function checkSendOptions(
  { type }: DeclaredQueue,
  options: AnySendOptions,
  prefix: string,
): void {
  if (type === 'fifo') refuseUnknownOptions(options, fifoOptions, prefix)
  else refuseUnknownOptions(options, standardOptions, prefix)
}

/** The caller's option names by the field names of the store. */
export function callerNames({ type }: DeclaredQueue): ReadonlyMap<string, string> {
  return type === 'fifo' ? fifoNames : standardNames
}

const fifoNames: ReadonlyMap<string, string> = new Map([
  ['delayMs', 'delay'],
  ['body', 'message'],
])
const standardNames: ReadonlyMap<string, string> = new Map([...fifoNames, ['group', 'tenant']])

export function newMessage(body: string, options: AnySendOptions, clock: Clock): NewMessage {
  const { tenant, group = tenant, deduplicationId, attributes } = options
  return {
    body,
    ...dueOf(options, clock),
    ...(group === undefined ? {} : { group }),
    ...(deduplicationId === undefined ? {} : { deduplicationId }),
    ...(attributes === undefined ? {} : { attributes }),
  }
}
