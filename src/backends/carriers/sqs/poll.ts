/** One ReceiveMessage call. It is never cut off while its messages could still be used or returned. */
import type { Message, ReceiveMessageRequest } from '@aws-sdk/client-sqs'
import type { QueueScene } from './message-sender.ts'

export interface PollRequest {
  readonly max: number
  readonly visibilitySeconds: number
  readonly waitSeconds: number
  readonly attemptId?: string | undefined
}

export class Poll {
  readonly request: PollRequest
  /** Resolves when the call has ended; never rejects. */
  readonly ended: Promise<void>
  messages: readonly Message[] = []
  error: unknown
  hasEnded = false
  readonly #cut = new AbortController()

  constructor({ queue, connection, urls }: QueueScene, request: PollRequest) {
    this.request = request
    this.ended = urls
      .use(queue, (QueueUrl) =>
        connection.call('ReceiveMessage', inputOf(QueueUrl, request), {
          queue,
          signal: this.#cut.signal,
        }),
      )
      .then(
        ({ Messages = [] }) => {
          this.messages = Messages
        },
        (error: unknown) => {
          this.error = error
        },
      )
      .then(() => {
        this.hasEnded = true
      })
  }

  /** Ends a call for which nothing waits any more. */
  cut(): void {
    this.#cut.abort()
  }
}

function inputOf(
  QueueUrl: string,
  { max, visibilitySeconds, waitSeconds, attemptId }: PollRequest,
): ReceiveMessageRequest {
  return {
    QueueUrl,
    MaxNumberOfMessages: max,
    VisibilityTimeout: visibilitySeconds,
    WaitTimeSeconds: waitSeconds,
    MessageAttributeNames: ['All'],
    MessageSystemAttributeNames: ['All'],
    // The name before 2024, for older versions of the SDK.
    AttributeNames: ['All'],
    ...(attemptId !== undefined && { ReceiveRequestAttemptId: attemptId }),
  }
}
