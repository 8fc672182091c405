/**
 * The system attributes of a message, with the names of SQS, as strings. Receives and Lambda events have the
 * same ones.
 */
import type { Delivery } from '../backends/backend.ts'
import { traceHeaderOf } from '../core/trace-context.ts'
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
  // Messages from the server's own account or from an app have no stored sender.
  SenderId: ({ systemAttributes }, home) => systemAttributes[senderKey] ?? home.account,
  SentTimestamp: ({ sentAt }) => String(sentAt),
  ApproximateReceiveCount: ({ receiveCount }) => String(receiveCount),
  ApproximateFirstReceiveTimestamp: ({ firstReceivedAt }) =>
    firstReceivedAt === null ? null : String(firstReceivedAt),
  SequenceNumber: ({ sequence, deduplicationId }) =>
    // All messages of FIFO queues have such an id, and only they.
    deduplicationId === null ? null : formatSequenceNumber(sequence),
  MessageDeduplicationId: ({ deduplicationId }) => deduplicationId,
  MessageGroupId: ({ group }) => group,
  AWSTraceHeader: ({ systemAttributes }) => traceHeaderOf(systemAttributes),
  DeadLetterQueueSourceArn: ({ deadLetterOrigin: deadLetter }, home) =>
    deadLetter === null ? null : formatArn(addressOf(deadLetter.source, home)),
}

/** The key in `NewMessage.systemAttributes`. */
export const senderKey = 'SenderId'

/** The requested attributes that the message has. */
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

/** Twenty digits, so that numbers and strings sort in the same order. */
export function formatSequenceNumber(sequence: number): string {
  return `1${String(sequence).padStart(19, '0')}`
}
