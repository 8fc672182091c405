/**
 * Receives messages from one queue. A body that does not fit the contract never reaches a handler: it is
 * dead-lettered at once. Without a dead-letter queue it stays in the queue and is reported.
 */
import type { Backend, Receive } from '../backends/backend.ts'
import type { DeclaredQueue, MessageOutput } from '../contracts/queue-declaration.ts'
import { type Duration, durationMs } from '../core/durations.ts'
import { limits } from '../core/limits.ts'
import { type OptionNames, refuseUnknownOptions } from '../core/options.ts'
import { checkDeliveries, type RefusedDelivery } from './check-deliveries.ts'
import { LeaseClient } from './lease-client.ts'
import { type TypedDelivery, typedDelivery } from './typed-delivery.ts'

export interface ReceiveOptions {
  /** How many messages at most, 1 to 1000. Default 1. */
  readonly max?: number
  /** How long the messages are hidden from other receivers. Default: the queue's own. */
  readonly visibility?: Duration
  /** How long to wait for the first message. Default: the queue's own, at most 20s. */
  readonly wait?: Duration
  /** Ends the wait early. Nothing is leased after that. */
  readonly signal?: AbortSignal
}

export interface QueueConsumer<Queue extends DeclaredQueue> {
  /** Leases messages. Resolves with an empty list if none arrived within the wait. */
  receive(options?: ReceiveOptions): Promise<readonly TypedDelivery<MessageOutput<Queue>>[]>
}

/** The same without the types of a queue. */
export interface UntypedConsumer {
  receive(options?: ReceiveOptions): Promise<readonly TypedDelivery<unknown>[]>
}

export interface ConsumerSetup {
  readonly backend: Pick<Backend, 'receive' | 'extend' | 'settle'>
  /** The queue's name on the backend. */
  readonly name: string
  readonly declared: DeclaredQueue
  readonly onRefused: (refused: RefusedDelivery) => void
  /** Names of kill switches that are on in the environment of this process. */
  readonly heldNames?: readonly string[]
}

export function createConsumer(setup: ConsumerSetup): UntypedConsumer {
  const { backend, name, declared, onRefused, heldNames = [] } = setup
  const held = heldNames.length > 0 && { heldNames }
  const client = new LeaseClient(backend)
  return {
    async receive(options = {}) {
      const deliveries = await backend.receive({ ...receiveRequest(name, options), ...held })
      const check = { client, queue: name, declared, onRefused }
      const checked = await checkDeliveries(check, deliveries)
      return checked.map((one) =>
        typedDelivery({ client, queue: name, isFifo: declared.type === 'fifo', ...one }),
      )
    },
  }
}

const receiveOptions: OptionNames<ReceiveOptions> = {
  max: true,
  visibility: true,
  wait: true,
  signal: true,
}

function receiveRequest(queue: string, options: ReceiveOptions): Receive {
  refuseUnknownOptions(options, receiveOptions)
  const { max = 1, visibility, wait, signal } = options
  return {
    queue,
    max,
    ...(visibility === undefined
      ? {}
      : { visibilityMs: durationMs(visibility, 'visibility', limits.visibilityMs) }),
    ...(wait === undefined ? {} : { waitMs: durationMs(wait, 'wait', limits.receiveWaitMs) }),
    ...(signal === undefined ? {} : { signal }),
  }
}
