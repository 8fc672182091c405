/** Calls functions as Lambda does, with batches that a test makes or a store has delivered. */
import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda'
import type { Delivery } from '../../src/backends/backend.ts'
import { sqsRecord } from '../../src/worker/lambda/sqs-event.ts'

export const home = { region: 'eu-west-1', account: '123456789012' }

export function record(
  body: unknown,
  changes: Partial<SQSRecord> & { readonly group?: string } = {},
): SQSRecord {
  const { group, ...others } = changes
  return {
    messageId: typeof body === 'string' ? body : JSON.stringify(body),
    receiptHandle: 'receipt',
    body: typeof body === 'string' ? body : JSON.stringify(body),
    attributes: {
      ApproximateReceiveCount: '2',
      SentTimestamp: '0',
      SenderId: 'x',
      ApproximateFirstReceiveTimestamp: '0',
      ...(group !== undefined && { MessageGroupId: group }),
    },
    messageAttributes: {},
    md5OfBody: '',
    eventSource: 'aws:sqs',
    eventSourceARN: 'arn:aws:sqs:eu-west-1:123456789012:q',
    awsRegion: 'eu-west-1',
    ...others,
  }
}

/** A context whose remaining time is what `remaining` returns. */
export function lambdaContext(remaining: () => number = () => 60_000): Context {
  return {
    callbackWaitsForEmptyEventLoop: true,
    functionName: 'grade',
    functionVersion: '$LATEST',
    invokedFunctionArn: 'arn:aws:lambda:eu-west-1:123456789012:function:grade',
    memoryLimitInMB: '128',
    awsRequestId: 'request-1',
    logGroupName: '',
    logStreamName: '',
    getRemainingTimeInMillis: remaining,
    done: () => undefined,
    fail: () => undefined,
    succeed: () => undefined,
  }
}

/** A handler as the types of AWS have it. */
export type AwsHandler = (event: SQSEvent, context: Context) => Promise<SQSBatchResponse>

/** Calls a function and returns the ids of the records that failed. */
export async function invoke(
  handler: AwsHandler,
  records: readonly SQSRecord[],
  context: Context = lambdaContext(),
): Promise<readonly string[]> {
  const { batchItemFailures } = await handler({ Records: [...records] }, context)
  return batchItemFailures.map(({ itemIdentifier }) => itemIdentifier)
}

/** The records that an event source makes of deliveries. */
export function recordsOf(deliveries: readonly Delivery[], queue: string): readonly SQSRecord[] {
  // The fields are the same; the types of AWS name each attribute.
  return deliveries.map((one) => sqsRecord(one, queue, home) as unknown as SQSRecord)
}
