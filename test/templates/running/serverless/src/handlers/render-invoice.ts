/** Renders each invoice into a mail, and reports those that cannot be rendered. */
import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs'
import type { SQSBatchItemFailure, SQSBatchResponse, SQSEvent } from 'aws-lambda'
import { mailOf } from '../invoice.js'

const sqs = new SQSClient({})

export const handler = async ({ Records }: SQSEvent): Promise<SQSBatchResponse> => {
  const batchItemFailures: SQSBatchItemFailure[] = []
  for (const { body, messageId } of Records) {
    try {
      const MessageBody = JSON.stringify(mailOf(JSON.parse(body)))
      const QueueUrl = process.env['MAILS_QUEUE_URL']
      await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody }))
    } catch {
      batchItemFailures.push({ itemIdentifier: messageId })
    }
  }
  return { batchItemFailures }
}
