/** Sends mails, wrapped by middy: how each promise ended says what becomes of its record. */
import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs'
import middy from '@middy/core'
import sqsPartialBatchFailure from '@middy/sqs-partial-batch-failure'

const sqs = new SQSClient({})

const deliver = async ({ body, attributes }) => {
  const mail = JSON.parse(body)
  if (mail.to.endsWith('.invalid')) throw new Error('there is no such host')
  const sent = { ...mail, stage: process.env.STAGE, receives: attributes.ApproximateReceiveCount }
  await sqs.send(
    new SendMessageCommand({
      QueueUrl: process.env.OUTBOX_QUEUE_URL,
      MessageBody: JSON.stringify(sent),
    }),
  )
}

export const handler = middy()
  .use(sqsPartialBatchFailure())
  .handler(({ Records }) => Promise.allSettled(Records.map(deliver)))
