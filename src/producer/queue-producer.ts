/**
 * Sends messages to one queue. A message is encoded and checked against its contract before anything is
 * stored, with the same checks as in the receiver.
 */
import type { Backend, EmittedMessage, NewMessage, SendResult } from '../backends/backend.ts'
import type { DeclaredQueue, FifoQueue, MessageInput } from '../contracts/queue-declaration.ts'
import { MillraceError } from '../core/millrace-error.ts'
import type { Clock } from '../core/ports.ts'
import { inCallerNames } from '../core/rename-fields.ts'
import { requireArray } from '../core/require-array.ts'
import { allOrThrow } from './all-or-throw.ts'
import { checkedEncoder } from './checked-encoder.ts'
import {
  type AnySendOptions,
  callerNames,
  checkSendOptions,
  newMessage,
  type SendOptions,
} from './send-options.ts'

/** `duplicate`: the queue has this message already. `id` and `sequence` are those of the first one. */
export interface Sent {
  readonly status: 'created' | 'duplicate'
  readonly id: string
  readonly sequence: number
}

/** A message that is sent in the commit that acknowledges another one. */
export interface PreparedMessage {
  /** Checks and encodes the message. Resolves with what the backend stores. */
  toEmitted(): Promise<EmittedMessage>
}

/** FIFO queues need a group, so their options are required. */
export type OptionsArgument<Queue extends DeclaredQueue, Options> = Queue extends FifoQueue
  ? [options: Options]
  : [options?: Options]

export interface QueueProducer<Queue extends DeclaredQueue> {
  send(
    message: MessageInput<Queue>,
    ...options: OptionsArgument<Queue, SendOptions<Queue>>
  ): Promise<Sent>
  /** Stores all messages or none. Options may depend on the message. */
  sendMany(
    messages: readonly MessageInput<Queue>[],
    ...options: OptionsArgument<
      Queue,
      SendOptions<Queue> | ((message: MessageInput<Queue>, index: number) => SendOptions<Queue>)
    >
  ): Promise<readonly Sent[]>
  /** A message for `acknowledge({ emits: [...] })`. */
  prepare(
    message: MessageInput<Queue>,
    ...options: OptionsArgument<Queue, SendOptions<Queue>>
  ): PreparedMessage
}

/** The same without the types of a queue. */
export interface UntypedProducer {
  send(message: unknown, options?: AnySendOptions): Promise<Sent>
  sendMany(
    messages: readonly unknown[],
    options?: AnySendOptions | ((message: unknown, index: number) => AnySendOptions),
  ): Promise<readonly Sent[]>
  /** @param field the name of the message in errors */
  prepare(message: unknown, options?: AnySendOptions, field?: string): PreparedMessage
}

export interface ProducerSetup {
  readonly backend: Pick<Backend, 'send'>
  /** The queue's name on the backend. */
  readonly name: string
  readonly declared: DeclaredQueue
  /** Decides whether a `runAt` lies in the past. */
  readonly clock: Clock
}

export function createProducer(setup: ProducerSetup): UntypedProducer {
  const { backend, name, declared, clock } = setup
  const encode = checkedEncoder(declared)
  const prepare = async (
    message: unknown,
    options: AnySendOptions,
    field?: string,
  ): Promise<NewMessage> => {
    checkSendOptions(declared, options, field === undefined ? '' : `${field}.options.`)
    return newMessage(await encode(message, field), options, clock)
  }
  const names = callerNames(declared)
  const store = async (messages: readonly NewMessage[]): Promise<readonly Sent[]> => {
    try {
      return (await backend.send({ queue: name, messages, allOrNothing: true })).map(sentOrThrow)
    } catch (error) {
      throw inCallerNames(error, names)
    }
  }

  return {
    async send(message, options = {}) {
      const [sent] = await store([await prepare(message, options)])
      // A backend must return a result for each message, so this one violates the port.
      if (sent === undefined) throw new MillraceError('store_failed')
      return sent
    },
    async sendMany(messages, options = {}) {
      requireArray('messages', messages)
      if (messages.length === 0) return []
      const optionsFor = typeof options === 'function' ? options : () => options
      const prepared = await Promise.allSettled(
        messages.map((message, index) =>
          prepare(message, optionsFor(message, index), `messages[${index}]`),
        ),
      )
      return store(allOrThrow(prepared))
    },
    prepare: (message, options = {}, field) => ({
      toEmitted: async () => ({ queue: name, message: await prepare(message, options, field) }),
    }),
  }
}

function sentOrThrow(result: SendResult): Sent {
  if (result.status === 'refused') throw result.error
  return result
}
