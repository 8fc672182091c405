/**
 * Sends to the queues of the app with the AWS SDK. The backend knows only queue URLs. A message is checked
 * against its schema before anything is stored or sent.
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

/** A message that was checked and is not sent yet. */
export interface CheckedMessage {
  send(): Promise<void>
}

export interface QueueSender {
  /** Throws `invalid_message` if the message does not fit the schema or contains personal data. */
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
