/** AWS SQS as a carrier, and every server that speaks its protocol. */
import { isRefused, MillraceError } from '../../../core/millrace-error.ts'
import type { CarriedLevels } from '../../carried-store.ts'
import type { QueueName } from '../../stored-message.ts'
import type {
  Carrier,
  CarrierDelivery,
  CarrierExtend,
  CarrierOpening,
  CarrierQueue,
  CarrierReceive,
  CarrierRelease,
  CarrierRemove,
  CarrierSend,
  CarrierSent,
} from '../carrier.ts'
import type { AnySqsClient, SqsClientSettings } from './any-client.ts'
import { sqsCapabilities } from './capabilities.ts'
import { SqsConnection } from './connection.ts'
import { LeaseChanges } from './lease-changes.ts'
import { MessageSender } from './message-sender.ts'
import { QueueReceiver } from './queue-receiver.ts'
import { QueueSetup } from './queue-setup.ts'
import { QueueUrls } from './queue-urls.ts'
import { sqsCodeOf } from './sqs-error.ts'

export interface SqsOpening extends CarrierOpening {
  readonly sdk: typeof import('@aws-sdk/client-sqs')
  readonly client: AnySqsClient | SqsClientSettings
  readonly namePrefix: string
  readonly mayCreate: boolean
  readonly pollsMax: number
}

/** Rejects if SQS cannot be used. */
export async function openSqs(opening: SqsOpening): Promise<Carrier> {
  const carrier = new SqsCarrier(opening)
  try {
    await carrier.check()
    return carrier
  } catch (error) {
    await carrier.close()
    throw error
  }
}

/** What is kept of a queue while the carrier is open. */
interface QueueCalls {
  readonly sender: MessageSender
  readonly receiver: QueueReceiver
  readonly leases: LeaseChanges
}

const countNames = [
  'ApproximateNumberOfMessages',
  'ApproximateNumberOfMessagesNotVisible',
  'ApproximateNumberOfMessagesDelayed',
] as const

class SqsCarrier implements Carrier {
  readonly capabilities = sqsCapabilities
  readonly #opening: SqsOpening
  readonly #connection: SqsConnection
  readonly #urls: QueueUrls
  readonly #setup: QueueSetup
  readonly #queues = new Map<string, QueueCalls>()

  constructor(opening: SqsOpening) {
    const { sdk, client, namePrefix, mayCreate } = opening
    this.#opening = opening
    this.#connection = new SqsConnection(sdk, client)
    this.#urls = new QueueUrls(this.#connection, namePrefix)
    this.#setup = new QueueSetup({ connection: this.#connection, urls: this.#urls, mayCreate })
  }

  ensure(queue: CarrierQueue): Promise<readonly string[]> {
    return this.#setup.ensure(queue)
  }

  async removeQueue({ queue }: QueueName): Promise<void> {
    await this.#urls.use(queue, (QueueUrl) =>
      this.#connection.call('DeleteQueue', { QueueUrl }, { queue }),
    )
    this.#urls.forget(queue)
  }

  async purge({ queue }: QueueName): Promise<void> {
    await this.#urls.use(queue, (QueueUrl) =>
      this.#connection.call('PurgeQueue', { QueueUrl }, { queue }),
    )
  }

  async levels({ queue }: QueueName): Promise<CarriedLevels> {
    const { Attributes = {} } = await this.#urls.use(queue, (QueueUrl) =>
      this.#connection.call(
        'GetQueueAttributes',
        { QueueUrl, AttributeNames: [...countNames] },
        { queue },
      ),
    )
    const [ready = 0, leased = 0, delayed = 0] = countNames.map((name) => Number(Attributes[name]))
    return { ready, leased, delayed, oldestSentAt: null }
  }

  send({ queue, messages }: CarrierSend): Promise<readonly CarrierSent[]> {
    return this.#callsOf(queue).sender.send(messages)
  }

  receive(request: CarrierReceive): Promise<readonly CarrierDelivery[]> {
    return this.#callsOf(request.queue).receiver.receive(request)
  }

  extend({ queue, leases }: CarrierExtend): Promise<readonly boolean[]> {
    return this.#callsOf(queue).leases.change(leases)
  }

  remove({ queue, messages }: CarrierRemove): Promise<readonly boolean[]> {
    return this.#callsOf(queue).leases.remove(messages.map(({ handle }) => handle))
  }

  release({ queue, messages }: CarrierRelease): Promise<readonly boolean[]> {
    return this.#callsOf(queue).leases.change(
      messages.map(({ handle, delayMs }) => ({ handle, visibilityMs: delayMs })),
    )
  }

  peek(): Promise<never> {
    const message = 'SQS has no way to read messages without receiving them.'
    return Promise.reject(new MillraceError('unsupported', { message }))
  }

  /** Needs only permissions that the carrier has anyway, once it knows a queue. */
  async check(): Promise<void> {
    const { anyQueue } = this.#urls
    if (anyQueue !== undefined) {
      await this.#urls.find(anyQueue)
      return
    }
    try {
      await this.#connection.call('ListQueues', { MaxResults: 1 })
    } catch (error) {
      // The credentials are valid. They need not be allowed to list queues.
      const isOnlyDenied =
        isRefused(error, 'carrier_unusable') && /^AccessDenied/.test(sqsCodeOf(error))
      if (!isOnlyDenied) throw error
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#queues.values()].map(({ receiver }) => receiver.close()))
    this.#connection.close()
  }

  #callsOf(queue: string): QueueCalls {
    const known = this.#queues.get(queue)
    if (known !== undefined) return known
    const { timers, pollsMax, onNotice } = this.#opening
    const scene = { queue, connection: this.#connection, urls: this.#urls, timers }
    const leases = new LeaseChanges(scene)
    const calls = {
      leases,
      sender: new MessageSender(scene),
      receiver: new QueueReceiver({ ...scene, leases, pollsMax, onNotice }),
    }
    this.#queues.set(queue, calls)
    return calls
  }
}
