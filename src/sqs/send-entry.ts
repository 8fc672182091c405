/** A message as a batch of SQS sends it. */
import type { MessageAttribute } from '../core/message.ts'

export interface SqsEntry {
  readonly MessageBody: string
  readonly DelaySeconds?: number
  readonly MessageGroupId?: string
  readonly MessageDeduplicationId?: string
  readonly MessageAttributes?: Readonly<Record<string, SqsAttribute>>
  readonly MessageSystemAttributes?: {
    readonly AWSTraceHeader: { readonly DataType: 'String'; readonly StringValue: string }
  }
}

interface SqsAttribute {
  DataType: string
  StringValue?: string
  BinaryValue?: Uint8Array
}

export interface SentEntry {
  readonly MessageId?: string | undefined
  readonly SequenceNumber?: string | undefined
}

/** What of a message SQS sends. */
export interface EntryContent {
  readonly body: string
  readonly delayMs?: number | null | undefined
  readonly group?: string | null | undefined
  readonly deduplicationId?: string | null | undefined
  readonly attributes?: Readonly<Record<string, MessageAttribute>> | undefined
  readonly traceHeader?: string | undefined
}

export function sendEntryOf({
  body,
  delayMs: delay,
  group,
  deduplicationId,
  attributes = {},
  traceHeader,
}: EntryContent): SqsEntry {
  const named = Object.entries(attributes)
  return {
    MessageBody: body,
    ...(delay != null && { DelaySeconds: Math.ceil(delay / 1_000) }),
    ...(group != null && { MessageGroupId: group }),
    ...(deduplicationId != null && { MessageDeduplicationId: deduplicationId }),
    ...(named.length > 0 && {
      MessageAttributes: Object.fromEntries(
        named.map(([name, attribute]) => [name, attributeOf(attribute)]),
      ),
    }),
    ...(traceHeader !== undefined && {
      MessageSystemAttributes: {
        AWSTraceHeader: { DataType: 'String', StringValue: traceHeader },
      },
    }),
  }
}

function attributeOf({ type, value }: MessageAttribute): SqsAttribute {
  return typeof value === 'string'
    ? { DataType: type, StringValue: value }
    : { DataType: type, BinaryValue: value }
}
