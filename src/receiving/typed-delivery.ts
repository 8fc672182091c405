/** One received message with its lease: its contents, and the calls that settle it. */
import type { DeadLetterOrigin, Delivery, MessageAttribute } from '../backends/backend.ts'
import { type Duration, durationMs } from '../core/durations.ts'
import { limits } from '../core/limits.ts'
import { type OptionNames, refuseUnknownOptions } from '../core/options.ts'
import { inCallerNames } from '../core/rename-fields.ts'
import { type TraceCarrier, traceCarrierOf } from '../core/trace-context.ts'
import type { PreparedMessage } from '../producer/queue-producer.ts'
import type { Extended, LeaseClient, Settled } from './lease-client.ts'

export interface TypedDelivery<Message> {
  /** The output of the queue's schema. */
  readonly message: Message
  readonly id: string
  readonly sequence: number
  /** How many times the message was received, including this time. */
  readonly receiveCount: number
  /** Milliseconds since the epoch, by the store's clock. */
  readonly sentAt: number
  readonly leaseExpiresAt: number
  /** Rises with every lease. Compare it in your own writes to refuse a worker whose lease has expired. */
  readonly token: number
  /** On a standard queue, the tenant that the message counts for. */
  readonly tenant: string | null
  /** On a FIFO queue, the group that the message is ordered in. */
  readonly group: string | null
  readonly attributes: Readonly<Record<string, MessageAttribute>>
  /** Source, time and reason, if the message comes from a dead-letter queue. */
  readonly deadLetterOrigin: DeadLetterOrigin | null
  /** The trace context of the sender, for `propagation.extract` of OpenTelemetry; null if there is none. */
  readonly traceContext: TraceCarrier | null

  /** Deletes the message and sends `emits`, in one transaction. */
  acknowledge(options?: { readonly emits?: readonly PreparedMessage[] }): Promise<Settled>
  /** Returns the message to the queue, at once or after a delay. The receive counts. */
  retry(options?: { readonly in?: Duration }): Promise<Settled>
  /** Returns the message to the queue at once. The receive does not count. */
  release(): Promise<Settled>
  /** Moves the message to the dead-letter queue. The reason is stored too, so it must not quote the message. */
  deadLetter(reason: string): Promise<Settled>
  /** Sets the end of the lease to this long from now. */
  extend(duration: Duration): Promise<Extended>
}

export interface DeliverySetup {
  readonly client: LeaseClient
  readonly queue: string
  readonly isFifo: boolean
  readonly delivery: Delivery
  readonly message: unknown
}

const settleNames: ReadonlyMap<string, string> = new Map([['outcome.reason', 'reason']])
const acknowledgeOptions: OptionNames<{ emits: unknown }> = { emits: true }
const retryOptions: OptionNames<{ in: unknown }> = { in: true }

export function typedDelivery(setup: DeliverySetup): TypedDelivery<unknown> {
  const { client, queue, isFifo, delivery, message } = setup
  const lease = { queue, receipt: delivery.receipt }
  return {
    message,
    id: delivery.id,
    sequence: delivery.sequence,
    receiveCount: delivery.receiveCount,
    sentAt: delivery.sentAt,
    leaseExpiresAt: delivery.leaseExpiresAt,
    token: delivery.token,
    tenant: isFifo ? null : delivery.group,
    group: isFifo ? delivery.group : null,
    attributes: delivery.attributes,
    deadLetterOrigin: delivery.deadLetterOrigin,
    get traceContext() {
      return traceCarrierOf(delivery) ?? null
    },

    acknowledge: async (options = {}) => {
      refuseUnknownOptions(options, acknowledgeOptions)
      const { emits = [] } = options
      const resolved = await Promise.all(emits.map((emission) => emission.toEmitted()))
      return client.settle(lease, { kind: 'acknowledge' }, { emits: resolved })
    },
    retry: async (options = {}) => {
      refuseUnknownOptions(options, retryOptions)
      const delayMs = durationMs(options.in ?? '0s', 'in', limits.visibilityMs)
      return client.settle(lease, { kind: 'retry', delayMs })
    },
    release: () => client.settle(lease, { kind: 'release' }),
    deadLetter: async (reason) => {
      try {
        return await client.settle(lease, { kind: 'deadLetter', reason })
      } catch (error) {
        throw inCallerNames(error, settleNames)
      }
    },
    extend: async (duration) =>
      client.extend(lease, durationMs(duration, 'duration', limits.visibilityMs)),
  }
}
