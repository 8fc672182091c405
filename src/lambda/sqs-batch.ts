/**
 * The event, context and response of a Lambda function that a queue feeds. They have the fields that the
 * types of `@types/aws-lambda` have, so handlers fit both.
 */
export interface SqsBatch {
  readonly Records: readonly SqsBatchRecord[]
}

export interface SqsBatchRecord {
  readonly messageId: string
  readonly receiptHandle: string
  readonly body: string
  readonly attributes: SqsBatchAttributes
  readonly messageAttributes: Readonly<Record<string, SqsBatchMessageAttribute>>
  readonly eventSourceARN: string
  readonly awsRegion: string
}

export interface SqsBatchAttributes {
  readonly ApproximateReceiveCount: string
  readonly SentTimestamp: string
  readonly SequenceNumber?: string | undefined
  readonly MessageGroupId?: string | undefined
  readonly MessageDeduplicationId?: string | undefined
  readonly AWSTraceHeader?: string | undefined
}

export interface SqsBatchMessageAttribute {
  readonly stringValue?: string | undefined
  /** Base64. */
  readonly binaryValue?: string | undefined
  readonly dataType: string
}

/** The records that failed. The others are deleted. */
export interface SqsBatchFailures {
  batchItemFailures: { itemIdentifier: string }[]
}

export interface LambdaContext {
  readonly functionName: string
  readonly awsRequestId: string
  getRemainingTimeInMillis(): number
}

export function isFifoArn(arn: string): boolean {
  return arn.endsWith('.fifo')
}

/** The name of the queue in the ARN of a record. */
export function queueNameIn({ eventSourceARN }: SqsBatchRecord): string {
  return eventSourceARN.slice(eventSourceARN.lastIndexOf(':') + 1)
}
