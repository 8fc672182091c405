/** The sender of an app without its types: checks, finds the URLs of queues, and calls SQS. */
import type { App } from '../contracts/define-app.ts'
import { defaultStage, type NamedQueue, queueUrlVariable } from '../contracts/resolve-names.ts'
import { resolveQueues } from '../contracts/resolve-queues.ts'
import { describeGiven } from '../core/checks.ts'
import { didYouMean } from '../core/did-you-mean.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { refuseUnknownOptions } from '../core/options.ts'
import { systemPorts } from '../core/ports.ts'
import { allOrThrow } from '../producer/all-or-throw.ts'
import type { AnySendOptions } from '../producer/send-options.ts'
import { sdkReasonOf } from '../sqs/sdk-error.ts'
import { sendBatches, sentOf } from './send-batches.ts'
import { loadSqs, type SqsCalls } from './sqs-client.ts'
import { type CheckedEntry, EntryMaker } from './sqs-entry.ts'
import {
  type CheckedMessage,
  type SqsJobOptions,
  type SqsSenderOptions,
  sqsJobOptionNames,
} from './sqs-sender-types.ts'
import type { SqsSent } from './unsent-error.ts'

type OptionsFor = AnySendOptions | ((message: unknown, index: number) => AnySendOptions)

export class UntypedSender {
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
    refuseUnknownOptions(options, sqsJobOptionNames)
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
      if (sdkReasonOf(cause).code !== 'QueueDoesNotExist') {
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
  const { code, reason } = sdkReasonOf(cause)
  return new MillraceError('send_failed', { message: `${what}: ${code}: ${reason}`, cause })
}
