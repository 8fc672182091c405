/** One received message with its lease: what a handler reads, and the ways in which it can end. */

import type { DeadLetterOrigin, Delivery, MessageAttribute } from '../backends/backend.ts'
import { type Duration, durationMs } from '../core/durations.ts'
import type { PreparedMessage } from '../producer/queue-producer.ts'
import type { Extended, LeaseClient, Settled } from './lease-client.ts'

export interface TypedDelivery<Message> {
  /** The output of the contract's schema. */
  readonly message: Message
  readonly id: string
  readonly sequence: number
  /** How often the message was received, this time included. */
  readonly receiveCount: number
  /** In milliseconds since the epoch, by the store's clock. */
  readonly sentAt: number
  readonly leaseExpiresAt: number
  /** Rises with every lease: compare it in your own writes to keep out a worker that came late. */
  readonly token: number
  readonly group: string | null
  readonly attributes: Readonly<Record<string, MessageAttribute>>
  /** Where and why the message died, when it was received from a dead-letter queue. */
  readonly deadLetter: DeadLetterOrigin | null

  /** Done: deletes the message and sends what it emits, together or not at all. */
  acknowledge(options?: { readonly emits?: readonly PreparedMessage[] }): Promise<Settled>
  /** Again, at once or later; this receive counts. */
  retry(options?: { readonly in?: Duration }): Promise<Settled>
  /** Hands the message back untouched; this receive does not count. */
  release(): Promise<Settled>
  /** To the dead-letter queue now. The reason is kept there, so it must not quote the message. */
  moveToDeadLetters(reason: string): Promise<Settled>
  /** The lease ends this long from now. */
  extend(duration: Duration): Promise<Extended>
}

export interface DeliverySetup {
  readonly client: LeaseClient
  readonly queue: string
  readonly delivery: Delivery
  readonly message: unknown
}

export function typedDelivery(setup: DeliverySetup): TypedDelivery<unknown> {
  const { client, queue, delivery, message } = setup
  const lease = { queue, receipt: delivery.receipt }
  return {
    message,
    id: delivery.id,
    sequence: delivery.sequence,
    receiveCount: delivery.receiveCount,
    sentAt: delivery.sentAt,
    leaseExpiresAt: delivery.leaseExpiresAt,
    token: delivery.token,
    group: delivery.group,
    attributes: delivery.attributes,
    deadLetter: delivery.deadLetter,

    acknowledge: async ({ emits = [] } = {}) => {
      const resolved = await Promise.all(emits.map((emission) => emission.toEmitted()))
      return client.settle(lease, { kind: 'acknowledge' }, { emits: resolved })
    },
    retry: async (options = {}) => {
      const delayMs = durationMs(options.in ?? '0s', 'in')
      return client.settle(lease, { kind: 'retry', delayMs })
    },
    release: () => client.settle(lease, { kind: 'release' }),
    moveToDeadLetters: (reason) => client.settle(lease, { kind: 'deadLetter', reason }),
    extend: async (duration) => client.extend(lease, durationMs(duration, 'duration')),
  }
}
