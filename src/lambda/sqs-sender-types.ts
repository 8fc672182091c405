/** The types of a sender: what it takes for each queue of an app. */
import type { App } from '../contracts/define-app.ts'
import type { JobInput, JobTypeName } from '../contracts/jobs-declaration.ts'
import type { DeclaredQueue, MessageInput } from '../contracts/queue-declaration.ts'
import type { OptionNames } from '../core/options.ts'
import type { Ports } from '../core/ports.ts'
import type { JobsKey } from '../jobs/app-jobs.ts'
import type { JobOptions } from '../jobs/job-options.ts'
import type { OptionsArgument } from '../producer/queue-producer.ts'
import type { SendOptions } from '../producer/send-options.ts'
import type { MessagesKey } from '../worker/handler-context.ts'
import type { SqsClient } from './sqs-client.ts'
import type { SqsSent } from './unsent-error.ts'

export interface SqsSenderOptions<Opened extends App = App> {
  /** URLs of queues, by key. Default: from the environment, such as VIDEO_QUEUE_URL, or asked by name. */
  readonly urls?: { readonly [Key in keyof Opened['queues']]?: string | undefined }
  /** Part of the names of the queues. Default: MILLRACE_STAGE, the app's own `stage`, or `dev`. */
  readonly stage?: string
  /** Your own `SQSClient`, which you close. Default: one with the settings of the environment. */
  readonly client?: SqsClient
  /** The variables to read. Default: the environment of the process. */
  readonly environment?: Readonly<Record<string, string | undefined>>
  /** Timers. Default: those of the system. */
  readonly ports?: Pick<Ports, 'timers'>
}

/** A message that was checked and is not sent yet. */
export interface CheckedMessage {
  send(): Promise<SqsSent>
}

type QueueOf<Opened extends App, Key> = Extract<
  Opened['queues'][Key & keyof Opened['queues']],
  DeclaredQueue
>

/** The options of a job that an SQS message can carry. */
export type SqsJobOptions = Pick<JobOptions, 'delay' | 'tenant' | 'owner' | 'idempotencyKey'>

export interface SqsSender<Opened extends App = App> {
  send<Key extends MessagesKey<Opened['queues']>>(
    queue: Key,
    message: MessageInput<QueueOf<Opened, Key>>,
    ...options: OptionsArgument<QueueOf<Opened, Key>, SendOptions<QueueOf<Opened, Key>>>
  ): Promise<SqsSent>
  /**
   * Sends in batches of ten, after all messages were checked. Rejects with an `UnsentError` if SQS did not
   * take all of them. Options may depend on the message.
   */
  sendMany<Key extends MessagesKey<Opened['queues']>>(
    queue: Key,
    messages: readonly MessageInput<QueueOf<Opened, Key>>[],
    ...options: OptionsArgument<
      QueueOf<Opened, Key>,
      | SendOptions<QueueOf<Opened, Key>>
      | ((
          message: MessageInput<QueueOf<Opened, Key>>,
          index: number,
        ) => SendOptions<QueueOf<Opened, Key>>)
    >
  ): Promise<readonly SqsSent[]>
  /** Checks a message now, to send it later: after your own commit. */
  check<Key extends MessagesKey<Opened['queues']>>(
    queue: Key,
    message: MessageInput<QueueOf<Opened, Key>>,
    ...options: OptionsArgument<QueueOf<Opened, Key>, SendOptions<QueueOf<Opened, Key>>>
  ): Promise<CheckedMessage>
  /** Sends a job as a message with its type in an attribute. */
  enqueue<Key extends JobsKey<Opened['queues']>, Name extends JobTypeName<Opened['queues'][Key]>>(
    queue: Key,
    type: Name,
    payload: JobInput<Opened['queues'][Key], Name>,
    options?: SqsJobOptions,
  ): Promise<SqsSent>
  /** Closes the client that the sender has made. */
  close(): void
}

export const sqsJobOptionNames: OptionNames<SqsJobOptions> = {
  delay: true,
  tenant: true,
  owner: true,
  idempotencyKey: true,
}
