/** The event that Lambda makes from a batch of messages, one record each, with the fields of AWS. */
import type { Delivery, MessageAttribute } from '../../backends/backend.ts'
import { jobAttributes } from '../../sqs/job-attributes.ts'
import { digestOfAttributes, digestOfBody } from '../../sqs/message-digest.ts'
import { addressOf, formatArn, type QueuePlace } from '../../sqs/queue-address.ts'
import { systemAttributesOf } from '../../sqs/system-attributes.ts'

export interface SqsEvent {
  readonly Records: readonly SqsRecord[]
}

export interface SqsRecord {
  readonly messageId: string
  readonly receiptHandle: string
  readonly body: string
  readonly attributes: Readonly<Record<string, string>>
  readonly messageAttributes: Readonly<Record<string, SqsRecordAttribute>>
  readonly md5OfBody: string
  readonly md5OfMessageAttributes?: string
  readonly eventSource: 'aws:sqs'
  readonly eventSourceARN: string
  readonly awsRegion: string
}

export interface SqsRecordAttribute {
  readonly stringValue?: string
  /** Base64. */
  readonly binaryValue?: string
  readonly stringListValues: readonly string[]
  readonly binaryListValues: readonly string[]
  readonly dataType: string
}

/** @param queue its name on the backend */
export function sqsRecord(delivery: Delivery, queue: string, home: QueuePlace): SqsRecord {
  const address = addressOf(queue, home)
  const { job, attributes: own } = delivery
  const attributes = job === null ? own : { ...own, ...jobAttributes(job) }
  const digest = digestOfAttributes(attributes)
  return {
    messageId: delivery.id,
    receiptHandle: delivery.receipt,
    body: delivery.body,
    attributes: systemAttributesOf(delivery, home),
    messageAttributes: Object.fromEntries(
      Object.entries(attributes).map(([name, value]) => [name, recordAttribute(value)]),
    ),
    md5OfBody: digestOfBody(delivery.body),
    ...(digest !== undefined && { md5OfMessageAttributes: digest }),
    eventSource: 'aws:sqs',
    eventSourceARN: formatArn(address),
    awsRegion: address.region,
  }
}

function recordAttribute({ type, value }: MessageAttribute): SqsRecordAttribute {
  return {
    ...(typeof value === 'string'
      ? { stringValue: value }
      : { binaryValue: Buffer.from(value).toString('base64') }),
    stringListValues: [],
    binaryListValues: [],
    dataType: type,
  }
}
