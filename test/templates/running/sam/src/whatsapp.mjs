/** Delivers payloads with Powertools. What fails is tried again at once, not after five minutes. */
import { BatchProcessor, EventType, processPartialResponse } from '@aws-lambda-powertools/batch'
import { ChangeMessageVisibilityCommand, SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs'

const sqs = new SQSClient({})
const processor = new BatchProcessor(EventType.SQS)

const deliver = async ({ body, receiptHandle, attributes }) => {
  const payload = JSON.parse(body)
  const receives = Number(attributes.ApproximateReceiveCount)
  if (payload.text === 'fail' || (payload.text === 'fail once' && receives === 1)) {
    await sqs.send(
      new ChangeMessageVisibilityCommand({
        QueueUrl: process.env.TARGET_QUEUE_URL,
        ReceiptHandle: receiptHandle,
        VisibilityTimeout: 0,
      }),
    )
    throw new Error('the channel did not answer')
  }
  await sqs.send(
    new SendMessageCommand({
      QueueUrl: process.env.RECEIPTS_QUEUE_URL,
      MessageBody: JSON.stringify({ ...payload, receives }),
    }),
  )
}

export const handler = async (event, context) =>
  processPartialResponse(event, deliver, processor, { context })
