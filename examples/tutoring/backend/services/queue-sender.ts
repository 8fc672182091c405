/**
 * Sends to the queues of the app through the AWS SDK: the backend knows URLs, and not who is behind them.
 * A message is checked against its contract before it is handed out, so that what breaks it is refused
 * before anything is stored.
 */
import { SendMessageCommand, type SQSClient } from '@aws-sdk/client-sqs'
import { type MessageInput, messageCodec } from 'millrace'
import { tutoring } from '../app.ts'
import type { Environment } from '../environment.ts'

const urls = {
  attemptStream: 'SQS_ATTEMPT_STREAM_URL',
  llmClassifyQueue: 'SQS_LLM_CLASSIFY_URL',
  ocrQueue: 'SQS_OCR_QUEUE_URL',
  guideIngestQueue: 'SQS_GUIDE_INGEST_URL',
  solutionGenerationQueue: 'SQS_SOLUTION_GEN_URL',
  submissionGradeQueue: 'SQS_SUBMISSION_GRADE_URL',
  exerciseGenerateQueue: 'SQS_EXERCISE_GENERATE_URL',
} as const satisfies Partial<Record<keyof typeof tutoring.queues, keyof Environment>>

export type SentQueue = keyof typeof urls
export type MessageFor<Queue extends SentQueue> = MessageInput<(typeof tutoring.queues)[Queue]>

/** A message that fits its contract, and is not sent yet. */
export interface CheckedMessage {
  send(): Promise<void>
}

export interface QueueSender {
  /** Throws `invalid_message` where the message does not fit, or carries personal data. */
  check<Queue extends SentQueue>(
    queue: Queue,
    message: MessageFor<Queue>,
    options?: { readonly group?: string },
  ): Promise<CheckedMessage>
}

export function queueSender(client: SQSClient, environment: Environment): QueueSender {
  return {
    async check(queue, message, { group } = {}) {
      const MessageBody = await messageCodec(tutoring.queues[queue]).encode(message)
      const command = new SendMessageCommand({
        QueueUrl: environment[urls[queue]],
        MessageBody,
        ...(group === undefined ? {} : { MessageGroupId: group }),
      })
      return {
        async send() {
          await client.send(command)
        },
      }
    },
  }
}
