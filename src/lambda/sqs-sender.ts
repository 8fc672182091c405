/**
 * Sends to the queues of an app with the AWS SDK, from a function or any other program. Messages are encoded
 * and checked against the contract of their queue before anything is sent.
 */
import type { App } from '../contracts/define-app.ts'
import type { JobInput, JobTypeName } from '../contracts/jobs-declaration.ts'
import type { DeclaredQueue, MessageInput } from '../contracts/queue-declaration.ts'
import { defaultStage, type NamedQueue, queueUrlVariable } from '../contracts/resolve-names.ts'
import { resolveQueues } from '../contracts/resolve-queues.ts'
import { describeGiven } from '../core/checks.ts'
import { didYouMean } from '../core/did-you-mean.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { type OptionNames, refuseUnknownOptions } from '../core/options.ts'
import { type Ports, systemPorts } from '../core/ports.ts'
import type { JobsKey } from '../jobs/app-jobs.ts'
import type { JobOptions } from '../jobs/job-options.ts'
import { allOrThrow } from '../producer/all-or-throw.ts'
import type { OptionsArgument } from '../producer/queue-producer.ts'
import type { AnySendOptions, SendOptions } from '../producer/send-options.ts'
import type { MessagesKey } from '../worker/handler-context.ts'
import { reasonOf, type SqsSent, sendBatches, sentOf } from './send-batches.ts'
import { loadSqs, type SqsCalls, type SqsClient } from './sqs-client.ts'
import { type CheckedEntry, EntryMaker } from './sqs-entry.ts'

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
export type SqsJobOptions = Pick<JobOptions, 'delay' | 'tenant'>

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

const optionNames: OptionNames<SqsSenderOptions> = {
  urls: true,
  stage: true,
  client: true,
  environment: true,
  ports: true,
}
const jobOptionNames: OptionNames<SqsJobOptions> = { delay: true, tenant: true }

export function sqsSender<const Opened extends App>(
  app: Opened,
  options: SqsSenderOptions<Opened> = {},
): SqsSender<Opened> {
  refuseUnknownOptions(options, optionNames)
  const keys = Object.fromEntries(Object.keys(app.queues).map((key) => [key, true] as const))
  refuseUnknownOptions(options.urls ?? {}, keys, 'urls.')
  const sender = new UntypedSender(app, options)
  // The types say which messages and options belong to which queue; the sender checks both.
  return {
    send: async (queue, message, given) => (await sender.check(queue, message, given)).send(),
    sendMany: (queue, messages, given) => sender.sendMany(queue, messages, given),
    check: (queue, message, given) => sender.check(queue, message, given),
    enqueue: (queue, type, payload, given) => sender.enqueue(queue, type, payload, given),
    close: () => sender.close(),
  } as SqsSender<Opened>
}

type OptionsFor = AnySendOptions | ((message: unknown, index: number) => AnySendOptions)

class UntypedSender {
  readonly #options: SqsSenderOptions
  readonly #stage: string
  readonly #makers: ReadonlyMap<string, EntryMaker>
  readonly #urls = new Map<string, Promise<string>>()
  #loading: Promise<SqsCalls> | undefined

  constructor(app: App, options: SqsSenderOptions) {
    this.#options = options
    const environment = options.environment ?? process.env
    this.#stage = options.stage ?? (environment['MILLRACE_STAGE'] || app.stage || defaultStage)
    const { queues, planned } = resolveQueues(app, this.#stage)
    this.#makers = new Map(
      queues.flatMap((queue) => {
        const plan = planned.find((one) => one.queue === queue.name)
        return plan === undefined ? [] : [[queue.key, new EntryMaker(queue, plan.settings)]]
      }),
    )
  }

  async check(key: string, message: unknown, options?: AnySendOptions): Promise<CheckedMessage> {
    const maker = this.#maker(key)
    const checked = await maker.message(message, options)
    return { send: () => this.#send(maker.queue, checked) }
  }

  async enqueue(
    key: string,
    type: string,
    payload: unknown,
    options: SqsJobOptions = {},
  ): Promise<SqsSent> {
    refuseUnknownOptions(options, jobOptionNames)
    const maker = this.#maker(key)
    return this.#send(maker.queue, await maker.job(type, payload, options))
  }

  async sendMany(
    key: string,
    messages: readonly unknown[],
    options: OptionsFor = {},
  ): Promise<readonly SqsSent[]> {
    const maker = this.#maker(key)
    const optionsFor = typeof options === 'function' ? options : () => options
    const checks = await Promise.allSettled(
      messages.map((message, index) =>
        maker.message(message, optionsFor(message, index), `messages[${index}]`),
      ),
    )
    const checked = allOrThrow(checks)
    if (checked.length === 0) return []
    const url = await this.#urlOf(maker.queue)
    const { sendBatch } = await this.#sqs()
    return sendBatches({
      entries: checked.map(({ entry }) => entry),
      sizes: checked.map(({ bytes }) => bytes),
      isFifo: maker.queue.declared.type === 'fifo',
      timers: (this.#options.ports ?? systemPorts).timers,
      call: (entries) => sendBatch(url, entries),
    })
  }

  close(): void {
    void this.#loading?.then(
      (sqs) => sqs.close(),
      () => undefined,
    )
    this.#loading = undefined
  }

  async #send(queue: NamedQueue, { entry }: CheckedEntry): Promise<SqsSent> {
    const url = await this.#urlOf(queue)
    const sqs = await this.#sqs()
    try {
      return sentOf(await sqs.send(url, entry))
    } catch (cause) {
      throw sendFailed(`The message to '${queue.key}' was not sent`, cause)
    }
  }

  /** Loaded once. After a failure, the next call tries again. */
  #sqs(): Promise<SqsCalls> {
    this.#loading ??= loadSqs(this.#options.client).catch((error: unknown) => {
      this.#loading = undefined
      throw error
    })
    return this.#loading
  }

  #maker(key: string): EntryMaker {
    const maker = this.#makers.get(key)
    if (maker !== undefined) return maker
    const allowed = `the key of a declared queue${didYouMean(String(key), [...this.#makers.keys()])}`
    throw MillraceError.invalid([{ field: 'queue', given: describeGiven(key), allowed }])
  }

  async #urlOf({ key, name }: NamedQueue): Promise<string> {
    const { urls = {}, environment = process.env } = this.#options
    const given = urls[key] || environment[queueUrlVariable(key)]
    if (given) return given
    const asked = this.#urls.get(key) ?? this.#ask(key, name)
    this.#urls.set(key, asked)
    return asked.catch((error: unknown) => {
      this.#urls.delete(key)
      throw error
    })
  }

  async #ask(key: string, name: string): Promise<string> {
    const { queueUrl } = await this.#sqs()
    const url = await queueUrl(name).catch((cause: unknown) => {
      if (reasonOf(cause).code !== 'QueueDoesNotExist') {
        throw sendFailed(`The URL of '${key}' could not be read`, cause)
      }
      return undefined
    })
    if (url !== undefined) return url
    const message = `SQS has no queue '${name}', the name of '${key}' at the stage '${this.#stage}'. Set ${queueUrlVariable(key)} to its URL, or MILLRACE_STAGE.`
    throw new MillraceError('queue_not_found', { message })
  }
}

function sendFailed(what: string, cause: unknown): MillraceError {
  const { code, reason } = reasonOf(cause)
  return new MillraceError('send_failed', { message: `${what}: ${code}: ${reason}`, cause })
}
