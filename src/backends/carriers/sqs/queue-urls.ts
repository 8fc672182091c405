/** The names and URLs that queues have at SQS. */
import { isRefused, MillraceError } from '../../../core/millrace-error.ts'
import type { SqsConnection } from './connection.ts'

export class QueueUrls {
  readonly #connection: SqsConnection
  readonly #prefix: string
  readonly #known = new Map<string, string>()
  readonly #asked = new Map<string, Promise<string>>()

  constructor(connection: SqsConnection, prefix: string) {
    this.#connection = connection
    this.#prefix = prefix
  }

  /** A queue that has been used, for a call that costs little. */
  get anyQueue(): string | undefined {
    return this.#known.keys().next().value
  }

  nameOf(queue: string): string {
    return this.#prefix + queue
  }

  /** The queue of a name at SQS. A name without the prefix stays as it is: it is not the app's. */
  queueOf(name: string): string {
    return name.startsWith(this.#prefix) ? name.slice(this.#prefix.length) : name
  }

  /** Calls the function with the URL, which is fetched again after SQS no longer knew it. */
  async use<T>(queue: string, run: (url: string) => Promise<T>): Promise<T> {
    const url = this.#known.get(queue) ?? (await this.#fetchOnce(queue))
    try {
      return await run(url)
    } catch (error) {
      if (isRefused(error, 'queue_not_found')) this.forget(queue)
      throw error
    }
  }

  /** Undefined if the queue does not exist at SQS. */
  async find(queue: string): Promise<string | undefined> {
    try {
      return await this.#fetch(queue)
    } catch (error) {
      if (isRefused(error, 'queue_not_found')) return undefined
      throw error
    }
  }

  remember(queue: string, url: string): void {
    this.#known.set(queue, url)
  }

  forget(queue: string): void {
    this.#known.delete(queue)
  }

  #fetchOnce(queue: string): Promise<string> {
    const asked = this.#asked.get(queue)
    if (asked !== undefined) return asked
    const asking = this.#fetch(queue).finally(() => this.#asked.delete(queue))
    this.#asked.set(queue, asking)
    return asking
  }

  async #fetch(queue: string): Promise<string> {
    const input = { QueueName: this.nameOf(queue) }
    const { QueueUrl: url } = await this.#connection.call('GetQueueUrl', input, { queue })
    if (url === undefined) throw new MillraceError('carrier_failed')
    this.remember(queue, url)
    return url
  }
}
