/**
 * Takes messages out of a carrier into the store, where they can be listed, claimed one by one by people, and
 * moved. Each is deleted at the carrier after the store has it.
 */
import type { Backend, Page, Peek, PeekedMessage } from '../backend.ts'
import type { CarriedStore } from '../carried-store.ts'
import type { InboxStore } from '../inbox-store.ts'
import { arriving } from './arrivals.ts'
import type { CarriedQueue, CarriedQueues } from './carried-queues.ts'
import type { CarrierPeeked } from './carrier.ts'

/** Messages of one slice. */
const sliceSize = 100
/** How long messages stay in the store after people have looked at them there. */
const keptMs = 600_000
/** Long enough for the store to take a slice. */
const visibilityMs = 30_000

export interface IntakeOptions {
  readonly store: Backend
  readonly carried: CarriedStore
  readonly queues: CarriedQueues
}

export class Intake {
  readonly #options: IntakeOptions
  constructor(options: IntakeOptions) {
    this.#options = options
  }

  /** Takes all messages of a queue that can be received now. */
  async takeAll(queue: CarriedQueue): Promise<void> {
    await this.#options.carried.keep({ queue: queue.name, forMs: keptMs })
    this.#options.queues.forget(queue.name)
    while ((await this.#takeSlice(queue)) > 0);
  }

  /** An inbox on a carrier: its messages are taken into the store before they are shown or claimed. */
  inboxes(store: InboxStore): InboxStore {
    const taking =
      <Request extends { readonly queue: string }, Result>(
        method: (request: Request) => Promise<Result>,
      ) =>
      async (request: Request): Promise<Result> => {
        const queue = await this.#options.queues.find(request.queue)
        if (queue !== undefined) await this.takeAll(queue)
        return method(request)
      }
    const { list, counts, read, claim } = store
    return {
      ...store,
      list: taking(list),
      counts: taking(counts),
      read: taking(read),
      claim: taking(claim),
    }
  }

  /** What the store has and, where the carrier can be read without receiving, what the carrier has. */
  async peek(queue: CarriedQueue, request: Peek): Promise<Page<PeekedMessage>> {
    const { store } = this.#options
    if (!queue.carrier.capabilities.peek) return store.peek(request)
    const { after, ...rest } = request
    // First all pages of the store, then those of the carrier.
    const isAtCarrier = after?.startsWith(carrierPage) ?? false
    if (!isAtCarrier) {
      const page = await store.peek(request)
      if (page.next !== undefined) return page
      const limit = request.limit - page.items.length
      if (limit === 0) return { ...page, next: carrierPage }
      const more = await queue.carrier.peek({ ...rest, limit })
      return joined([...page.items, ...ofCarrier(more.items)], more.next)
    }
    const place = after?.slice(carrierPage.length) ?? ''
    const page = await queue.carrier.peek({ ...rest, ...(place !== '' && { after: place }) })
    return joined(ofCarrier(page.items), page.next)
  }

  async #takeSlice(queue: CarriedQueue): Promise<number> {
    const { name, carrier } = queue
    const found = await carrier.receive({ queue: name, max: sliceSize, visibilityMs, waitMs: 0 })
    if (found.length === 0) return 0
    const messages = found.map((delivery) => arriving(queue, delivery))
    await this.#options.carried.arrive({ queue: name, messages, visibilityMs, mode: 'keeps' })
    await carrier.remove({ queue: name, messages: found.map(({ handle }) => ({ handle })) })
    return found.length
  }
}

/** The store has shown those that it tracks. */
function ofCarrier(items: readonly CarrierPeeked[]): readonly PeekedMessage[] {
  return items.flatMap(({ labels, ...item }) => {
    if (labels === null) return item
    const { id, isTracked, deadLetterOrigin = null, sentAt = item.sentAt } = labels
    return isTracked ? [] : { ...item, id, deadLetterOrigin, sentAt }
  })
}

const carrierPage = 'carrier:'

function joined(items: readonly PeekedMessage[], next: string | undefined): Page<PeekedMessage> {
  return { items, ...(next !== undefined && { next: carrierPage + next }) }
}
