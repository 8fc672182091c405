/** Sends what a trigger stands for to its channel, or to a person when someone asked for one. */
import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs'

const sqs = new SQSClient({})
const version = 'v1'

const queues = {
  whatsapp: process.env.WHATSAPP_QUEUE_URL,
  sms: process.env.SMS_QUEUE_URL,
  email: process.env.EMAIL_QUEUE_URL,
}

export const handler = async (event) => {
  for (const { body } of event.Records) {
    const payload = { ...JSON.parse(body), version, environment: process.env.ENVIRONMENT_NAME }
    await sqs.send(
      new SendMessageCommand({
        QueueUrl: payload.handoff ? process.env.HANDOFF_QUEUE_URL : queues[payload.channel],
        MessageBody: JSON.stringify(payload),
      }),
    )
  }
}
