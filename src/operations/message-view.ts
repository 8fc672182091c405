/** Messages as all surfaces show them to operators. Field names are API. */
import type { Delivery, MessageAttribute, PeekedMessage } from '../backends/backend.ts'
import { isoTime } from '../core/iso-time.ts'
import type { MessageState } from '../core/message.ts'
import { maskBody } from './mask-payload.ts'

export interface MessageView {
  readonly id: string
  /** Rises with every message of the store. */
  readonly sequence: number
  readonly state: MessageState
  readonly body: string
  readonly attributes: Readonly<Record<string, AttributeView>>
  readonly group: string | null
  readonly deduplication_id: string | null
  readonly sent_at: string
  readonly first_received_at: string | null
  readonly receive_count: number
  /** When a leased or delayed message can be received again. */
  readonly due_at: string | null
  readonly dead_letter: DeadLetterView | null
}

export interface AttributeView {
  readonly type: string
  /** Bytes are in base64. */
  readonly value: string
}

export interface DeadLetterView {
  readonly source: string
  readonly at: string
  readonly reason: string | null
}

export interface DeliveryView extends MessageView {
  readonly receipt: string
}

/** @param hidden masked paths in the body */
export function messageView(message: PeekedMessage, hidden: readonly string[]): MessageView {
  return { ...commonView(message, hidden), state: message.state, due_at: isoTime(message.dueAt) }
}

export function deliveryView(delivery: Delivery, hidden: readonly string[]): DeliveryView {
  const due_at = isoTime(delivery.leaseExpiresAt)
  return { ...commonView(delivery, hidden), state: 'leased', due_at, receipt: delivery.receipt }
}

function commonView(
  message: PeekedMessage | Delivery,
  hidden: readonly string[],
): Omit<MessageView, 'state' | 'due_at'> {
  const { deadLetterOrigin: origin } = message
  return {
    id: message.id,
    sequence: message.sequence,
    body: maskBody(message.body, hidden),
    attributes: attributesView(message.attributes),
    group: message.group,
    deduplication_id: message.deduplicationId,
    sent_at: isoTime(message.sentAt),
    first_received_at: isoTime(message.firstReceivedAt),
    receive_count: message.receiveCount,
    dead_letter: origin && { ...origin, at: isoTime(origin.at) },
  }
}

export function attributesView(
  attributes: Readonly<Record<string, MessageAttribute>>,
): Readonly<Record<string, AttributeView>> {
  return Object.fromEntries(
    Object.entries(attributes).map(([name, { type, value }]) => [
      name,
      { type, value: typeof value === 'string' ? value : Buffer.from(value).toString('base64') },
    ]),
  )
}
