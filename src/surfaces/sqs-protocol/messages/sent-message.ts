/** The result of a send. */
import {
  digestOfAttributes,
  digestOfBody,
  digestOfTraceHeader,
} from '../../../sqs/message-digest.ts'
import { formatSequenceNumber } from '../../../sqs/system-attributes.ts'
import { type StructureShape, text, type ValueOf } from '../shapes.ts'
import type { Outgoing } from './outgoing-message.ts'
import type { Sent } from './sending.ts'

export const sentMembers: {
  readonly MessageId: typeof text
  readonly MD5OfMessageBody: typeof text
  readonly MD5OfMessageAttributes: typeof text
  readonly MD5OfMessageSystemAttributes: typeof text
  readonly SequenceNumber: typeof text
} = {
  MessageId: text,
  MD5OfMessageBody: text,
  MD5OfMessageAttributes: text,
  MD5OfMessageSystemAttributes: text,
  SequenceNumber: text,
}

/** A duplicate gets the id and sequence number of the first message, as on SQS. */
export function sentMessage(
  { message, attributes, traceHeader }: Outgoing,
  { id, sequence }: Sent,
  isFifo: boolean,
): ValueOf<StructureShape<typeof sentMembers>> {
  return {
    MessageId: id,
    MD5OfMessageBody: digestOfBody(message.body),
    MD5OfMessageAttributes: attributes && digestOfAttributes(attributes),
    MD5OfMessageSystemAttributes:
      traceHeader === undefined ? undefined : digestOfTraceHeader(traceHeader),
    SequenceNumber: isFifo && sequence !== undefined ? formatSequenceNumber(sequence) : undefined,
  }
}
