/** The result of a send. */
import type { SendResult } from '../../../backends/backend.ts'
import {
  digestOfAttributes,
  digestOfBody,
  digestOfTraceHeader,
} from '../../../sqs/message-digest.ts'
import { formatSequenceNumber } from '../../../sqs/system-attributes.ts'
import { type StructureShape, text, type ValueOf } from '../shapes.ts'
import type { Outgoing } from './outgoing-message.ts'

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

type Sent = Exclude<SendResult, { readonly status: 'refused' }>

/** A duplicate gets the id and sequence number of the first message, as on SQS. */
export function sentMessage(
  { message, traceHeader }: Outgoing,
  { id, sequence }: Sent,
  isFifo: boolean,
): ValueOf<StructureShape<typeof sentMembers>> {
  const { body, attributes } = message
  return {
    MessageId: id,
    MD5OfMessageBody: digestOfBody(body),
    MD5OfMessageAttributes: attributes && digestOfAttributes(attributes),
    MD5OfMessageSystemAttributes:
      traceHeader === undefined ? undefined : digestOfTraceHeader(traceHeader),
    SequenceNumber: isFifo ? formatSequenceNumber(sequence) : undefined,
  }
}
