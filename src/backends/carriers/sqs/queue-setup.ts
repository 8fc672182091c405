/** Creates a queue at SQS, or compares the one that exists with the settings of the app. */
import { isRefused, MillraceError } from '../../../core/millrace-error.ts'
import { parseJsonObject } from '../../../sqs/json-object.ts'
import { type QueueAttributes, settableAttributes } from '../../../sqs/queue-attributes.ts'
import { redrivePolicyText } from '../../../sqs/redrive-policies.ts'
import type { CarrierQueue } from '../carrier.ts'
import type { SqsConnection } from './connection.ts'
import type { QueueUrls } from './queue-urls.ts'
import { sqsCodeOf } from './sqs-error.ts'

export interface QueueSetupOptions {
  readonly connection: SqsConnection
  readonly urls: QueueUrls
  readonly mayCreate: boolean
}

export class QueueSetup {
  readonly #options: QueueSetupOptions

  constructor(options: QueueSetupOptions) {
    this.#options = options
  }

  /** Returns how a queue that exists differs, in plain words. */
  async ensure(given: CarrierQueue): Promise<readonly string[]> {
    const { queue, settings } = given
    const { urls, mayCreate } = this.#options
    const name = urls.nameOf(queue)
    refuseName(name, settings.type)
    const wanted = {
      ...settableAttributes(settings),
      ...(await this.#redrive(given)),
    }
    const url = await urls.find(queue)
    if (url !== undefined) return this.#differences(given, wanted)
    if (!mayCreate) {
      const advice = "Create it, or open the carrier with `queues: 'create'`."
      throw unusable(`Queue '${name}' does not exist at SQS. ${advice}`)
    }
    return (await this.#create(queue, wanted)) ? [] : this.#differences(given, wanted)
  }

  /** False if another program has just created it with other attributes. */
  async #create(queue: string, wanted: QueueAttributes): Promise<boolean> {
    const { connection, urls } = this.#options
    const input = { QueueName: urls.nameOf(queue), Attributes: { ...wanted } }
    try {
      const { QueueUrl: url } = await connection.call('CreateQueue', input, { queue })
      if (url !== undefined) urls.remember(queue, url)
      return true
    } catch (error) {
      const isTaken = isRefused(error, 'carrier_failed') && taken.test(sqsCodeOf(error))
      if (isTaken && (await urls.find(queue)) !== undefined) return false
      throw error
    }
  }

  async #differences(
    { queue, settings, isTracked }: CarrierQueue,
    wanted: QueueAttributes,
  ): Promise<readonly string[]> {
    const found = await this.#attributes(queue, ['All'])
    const isFifo = found['FifoQueue']?.toLowerCase() === 'true'
    if (isFifo !== (settings.type === 'fifo')) {
      const types = isFifo ? 'FIFO at SQS, standard' : 'standard at SQS, FIFO'
      const name = this.#options.urls.nameOf(queue)
      throw unusable(`Queue '${name}' is ${types} in the app. Delete it, or choose another name.`)
    }
    const { RedrivePolicy: redrive, ...others } = wanted
    const differences = Object.entries(others).flatMap(([name, value]) =>
      found[name] === undefined || found[name].toLowerCase() === value.toLowerCase()
        ? []
        : [`${name} is ${inUnit(name, found[name])} at SQS, ${inUnit(name, value)} in the app`],
    )
    return [...differences, ...redriveDifference(found['RedrivePolicy'], redrive, isTracked)]
  }

  /** SQS moves the messages of queues that are not tracked. Of tracked queues, the store counts attempts. */
  async #redrive({
    settings: { deadLetter },
    isTracked,
  }: CarrierQueue): Promise<Readonly<Record<string, string>>> {
    if (isTracked || deadLetter === null) return {}
    const url = await this.#options.urls.find(deadLetter.queue)
    if (url === undefined) return {}
    const { QueueArn: arn } = await this.#attributes(deadLetter.queue, ['QueueArn'])
    return arn === undefined
      ? {}
      : { RedrivePolicy: redrivePolicyText(arn, deadLetter.maxReceives) }
  }

  async #attributes(queue: string, names: readonly ('All' | 'QueueArn')[]): Promise<Found> {
    const { connection, urls } = this.#options
    const { Attributes = {} } = await urls.use(queue, (QueueUrl) =>
      connection.call('GetQueueAttributes', { QueueUrl, AttributeNames: [...names] }, { queue }),
    )
    return Attributes
  }
}

type Found = Readonly<Record<string, string | undefined>>

const taken = /^(QueueNameExists|QueueAlreadyExists)$/

function refuseName(name: string, type: 'standard' | 'fifo'): void {
  if (/^[\w-]{1,80}$/.test(name) && type === 'standard') return
  if (/^[\w-]{1,75}\.fifo$/.test(name) && type === 'fifo') return
  const allowed =
    type === 'fifo'
      ? 'ends with .fifo, and has at most 80 letters, digits, _ and -'
      : 'has at most 80 letters, digits, _ and -'
  throw unusable(`SQS cannot have a ${type} queue named '${name}'. Choose a name that ${allowed}.`)
}

const inSeconds: readonly string[] = [
  'VisibilityTimeout',
  'DelaySeconds',
  'MessageRetentionPeriod',
  'ReceiveMessageWaitTimeSeconds',
]

function inUnit(name: string, value: string): string {
  return inSeconds.includes(name) ? `${value} s` : value
}

function redriveDifference(
  found: string | undefined,
  wanted: string | undefined,
  isTracked: boolean,
): readonly string[] {
  const [atSqs, inApp] = [redriveWords(found), redriveWords(wanted)]
  if (isTracked && atSqs !== none) {
    return [`RedrivePolicy is ${atSqs} at SQS, but the store counts the attempts of this queue`]
  }
  return atSqs === inApp ? [] : [`RedrivePolicy is ${atSqs} at SQS, ${inApp} in the app`]
}

const none = 'not set'

function redriveWords(policy: string | undefined): string {
  if (policy === undefined || policy === '') return none
  const { deadLetterTargetArn: arn, maxReceiveCount: count } = parseJsonObject(policy) ?? {}
  const name = String(arn).slice(String(arn).lastIndexOf(':') + 1)
  return `'${name}' after ${String(count)} receives`
}

function unusable(message: string): MillraceError {
  return new MillraceError('carrier_unusable', { message })
}
