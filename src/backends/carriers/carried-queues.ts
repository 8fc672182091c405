/** Which queues of a store are on a carrier, and with which settings. Remembered for a moment, like a switch. */

import { carrierAnnotation } from '../../core/carrier-annotation.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import type { Clock } from '../../core/ports.ts'
import type { Backend, QueueRecord } from '../backend.ts'
import type { Admitted, CarriedStore } from '../carried-store.ts'
import type { Carrier } from './carrier.ts'

const free: Admitted = { room: Number.POSITIVE_INFINITY, isKept: false }

/** How long settings are remembered: changes of other processes take effect within a second. */
const rememberedMs = 500

export interface CarriedQueue {
  readonly name: string
  readonly record: QueueRecord
  readonly carrier: Carrier
}

interface Remembered {
  readonly at: number
  /** Undefined if it is not on a carrier. */
  readonly queue: CarriedQueue | undefined
  /** As of then, nothing limits the queue. */
  isFree: boolean
}

export interface CarriedQueuesOptions {
  readonly store: Backend
  readonly carried: CarriedStore
  readonly carriers: ReadonlyMap<string, Carrier>
  readonly clock: Clock
}

export class CarriedQueues {
  readonly #options: CarriedQueuesOptions
  readonly #remembered = new Map<string, Remembered>()

  constructor(options: CarriedQueuesOptions) {
    this.#options = options
  }

  /** Undefined if the queue is not on a carrier. Rejects with `queue_not_found`. */
  async find(name: string): Promise<CarriedQueue | undefined> {
    return (await this.#look(name)).queue
  }

  async admission({ name }: CarriedQueue, heldNames: readonly string[]): Promise<Admitted> {
    const remembered = await this.#look(name)
    // A limited queue is asked about each time. An unlimited one stays so for a moment.
    if (remembered.isFree && heldNames.length === 0) return free
    const admitted = await this.#options.carried.admission({ queue: name, heldNames })
    const { room, isKept } = admitted
    remembered.isFree = room === Number.POSITIVE_INFINITY && !isKept && heldNames.length === 0
    return admitted
  }

  forget(name: string): void {
    this.#remembered.delete(name)
  }

  async #look(name: string): Promise<Remembered> {
    const { store, clock } = this.#options
    const known = this.#remembered.get(name)
    const now = clock.monotonic()
    if (known !== undefined && now - known.at < rememberedMs) return known
    const record = await store.readQueue({ queue: name })
    const remembered = { at: now, queue: this.#carried(record), isFree: false }
    this.#remembered.set(name, remembered)
    return remembered
  }

  #carried(record: QueueRecord): CarriedQueue | undefined {
    const carrierName = record.settings.annotations[carrierAnnotation]
    if (carrierName === undefined) return undefined
    const carrier = this.#options.carriers.get(carrierName)
    if (carrier === undefined) {
      const message = `The queue '${record.name}' is on the carrier '${carrierName}', which this program has not opened.`
      throw new MillraceError('carrier_unusable', { message })
    }
    return { name: record.name, record, carrier }
  }
}
