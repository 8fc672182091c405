/**
 * The attributes that SQS itself gives to a message, by their names on the wire, as text. Receives and
 * Lambda events show the same ones.
 */
import type { Delivery } from '../backends/backend.ts'
import { addressOf, formatArn, type QueuePlace } from './queue-address.ts'

type ReadAttribute = (delivery: Delivery, home: QueuePlace) => string | null | undefined

export const systemAttributeNames = [
  'SenderId',
  'SentTimestamp',
  'ApproximateReceiveCount',
  'ApproximateFirstReceiveTimestamp',
  'SequenceNumber',
  'MessageDeduplicationId',
  'MessageGroupId',
  'AWSTraceHeader',
  'DeadLetterQueueSourceArn',
] as const

export type SystemAttributeName = (typeof systemAttributeNames)[number]

const readers: Readonly<Record<SystemAttributeName, ReadAttribute>> = {
  // Messages that came from the server's own account, or from an app, do not carry a sender.
  SenderId: ({ systemAttributes }, home) => systemAttributes[senderKey] ?? home.account,
  SentTimestamp: ({ sentAt }) => String(sentAt),
  ApproximateReceiveCount: ({ receiveCount }) => String(receiveCount),
  ApproximateFirstReceiveTimestamp: ({ firstReceivedAt }) =>
    firstReceivedAt === null ? null : String(firstReceivedAt),
  SequenceNumber: ({ sequence, deduplicationId }) =>
    // Every message of a FIFO queue has such an id, and no other.
    deduplicationId === null ? null : formatSequenceNumber(sequence),
  MessageDeduplicationId: ({ deduplicationId }) => deduplicationId,
  MessageGroupId: ({ group }) => group,
  AWSTraceHeader: ({ systemAttributes }) => systemAttributes[traceHeaderKey],
  DeadLetterQueueSourceArn: ({ deadLetterOrigin: deadLetter }, home) =>
    deadLetter === null ? null : formatArn(addressOf(deadLetter.source, home)),
}

/** In `NewMessage.systemAttributes`. */
export const senderKey = 'SenderId'
export const traceHeaderKey = 'AWSTraceHeader'

/** Those of the named attributes that the message has. */
export function systemAttributesOf(
  delivery: Delivery,
  home: QueuePlace,
  names: Iterable<SystemAttributeName> = systemAttributeNames,
): Readonly<Record<string, string>> {
  const attributes: Record<string, string> = {}
  for (const name of names) {
    const value = readers[name](delivery, home)
    if (value != null) attributes[name] = value
  }
  return attributes
}

/** Twenty digits, in the order of the sequence as numbers and as text. */
export function formatSequenceNumber(sequence: number): string {
  return `1${String(sequence).padStart(19, '0')}`
}
