import { delayOf, refuseMessage } from '../../core/check-message.ts'
import type { NewMessage } from '../../core/message.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import type { Ports } from '../../core/ports.ts'
import type { QueueSettings } from '../../core/queue-settings.ts'
import type { Backend, Send, SendResult } from '../backend.ts'
import type { CarriedStore } from '../carried-store.ts'
import type { CollectorStore } from '../collector-store.ts'
import type { MetricStore } from '../metric-store.ts'
import { Arrivals, unnumbered } from './arrivals.ts'
import { type CarriedQueue, CarriedQueues } from './carried-queues.ts'
import { parseReceipt } from './carried-receipt.ts'
import type { Carrier, CarrierMessage, CarrierSent } from './carrier.ts'
import { HeldDeliveries } from './held-deliveries.ts'
import { Intake } from './intake.ts'
import { Relay } from './relay.ts'
import { messageOf, Settlements } from './settlements.ts'
import { Tally } from './tally.ts'

export interface PartsOptions {
  readonly store: Backend
  readonly carried: CarriedStore
  readonly carriers: ReadonlyMap<string, Carrier>
  readonly ports: Ports
  readonly onNotice: (text: string, error?: unknown) => void
}

export class CarriedParts {
  readonly queues: CarriedQueues
  readonly held: HeldDeliveries
  readonly arrivals: Arrivals
  readonly settlements: Settlements
  readonly intake: Intake
  readonly tally: Tally
  readonly #options: PartsOptions
  readonly #relays = new Map<string, Relay>()
  /** The latest send to each FIFO queue. */
  readonly #sends = new Map<string, Promise<unknown>>()

  constructor(options: PartsOptions) {
    const { store, carried, carriers, ports } = options
    this.#options = options
    const onFailure = (queue: string, error: unknown): void => this.#report(queue, error)
    this.queues = new CarriedQueues({ store, carried, carriers, clock: ports.clock })
    this.held = new HeldDeliveries(ports.clock)
    this.tally = new Tally(carried)
    const { held, tally } = this
    this.settlements = new Settlements({ store, carried, held, tally, onFailure })
    this.intake = new Intake({ store, carried, queues: this.queues })
    this.arrivals = new Arrivals({
      carried,
      queues: this.queues,
      held,
      tally,
      ports,
      store,
      noteChange: () => this.noteChange(),
      flush: (queue) => this.flush(queue),
      onFailure,
    })
  }

  /** Creates the queue at its carrier, or compares its settings. */
  async ensure(name: string): Promise<void> {
    this.queues.forget(name)
    const queue = await this.queues.find(name)
    if (queue === undefined) return
    const { settings } = queue.record
    const isTracked = settings.jobTypes.length > 0
    const differences = await queue.carrier.ensure({ queue: name, settings, isTracked })
    for (const difference of differences) this.#options.onNotice(`${name}: ${difference}`)
    this.#relayOf(queue).start()
  }

  /** A trigger that the store has not sent is tracked from here on, because its batch is. */
  collectors(store: CollectorStore): CollectorStore {
    return {
      ...store,
      begin: async (request) => {
        const receipt = await this.#track(request.receipt)
        return store.begin({ ...request, receipt })
      },
    }
  }

  /** The receipt of the store for a delivery. */
  async #track(text: string): Promise<string> {
    const receipt = parseReceipt(text)
    const known = receipt?.stored ?? this.held.storedReceipt(text)
    if (receipt === undefined || known !== undefined) return known ?? text
    const { queue, carrierId } = receipt
    const delivery = this.held.live(queue, text)
    if (delivery === null) return text
    const [arrived] = await this.#options.carried.arrive({
      queue,
      visibilityMs: delivery.leaseExpiresAt - this.#options.ports.clock.now(),
      messages: [
        { carrierId, id: null, message: messageOf(delivery), job: null, sentAt: delivery.sentAt },
      ],
      mode: 'tracks',
    })
    if (arrived?.status !== 'leased') return text
    this.held.track(text, arrived.delivery.receipt)
    return arrived.delivery.receipt
  }

  noting<Store extends object>(part: Store): Store {
    const methods = Object.entries(part).map(([name, method]) => [
      name,
      typeof method === 'function'
        ? async (request: unknown): Promise<unknown> => {
            try {
              return await method(withStoredReceipt(request))
            } finally {
              this.noteChange()
            }
          }
        : method,
    ])
    return Object.fromEntries(methods) as Store
  }

  flushingTally(metrics: MetricStore): MetricStore {
    const methods = Object.entries(metrics).map(([name, method]) => [
      name,
      async (request: never): Promise<unknown> => {
        await this.tally.flush()
        if (name === 'sample' || name === 'snapshot') await this.noteAllLevels()
        return method(request)
      },
    ])
    return Object.fromEntries(methods) as MetricStore
  }

  noteChange(): void {
    this.arrivals.wake()
    for (const relay of this.#relays.values()) relay.noteChange()
  }

  async flush(queue: CarriedQueue): Promise<void> {
    await this.#relayOf(queue).flush()
  }

  async flushAll(): Promise<void> {
    this.noteChange()
    for (const relay of this.#relays.values()) await relay.flush()
  }

  async stopRelay(name: string): Promise<void> {
    await this.#relays.get(name)?.stop()
    this.#relays.delete(name)
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#relays.values()].map((relay) => relay.stop()))
  }

  /** Sends to a FIFO queue follow each other, and what waits in the store goes first. */
  send(queue: CarriedQueue, request: Send): Promise<readonly SendResult[]> {
    if (queue.record.settings.type === 'standard') return this.#send(queue, request)
    const before = this.#sends.get(queue.name) ?? Promise.resolve()
    const sending = before.then(async () => {
      await this.flush(queue)
      return await this.#send(queue, request)
    })
    this.#sends.set(
      queue.name,
      sending.catch(() => undefined),
    )
    return sending
  }

  /** Plain messages go to the carrier at once. What it cannot do waits in the store. */
  async #send(queue: CarriedQueue, request: Send): Promise<readonly SendResult[]> {
    const { store, ports } = this.#options
    const { settings } = queue.record
    const { capabilities } = queue.carrier
    const now = ports.clock.now()
    const refusals = request.messages.map((message) => refuseMessage(message, settings, now))
    const first = refusals.find((refusal) => refusal !== undefined)
    if (request.allOrNothing && first !== undefined) throw first
    // What a carrier cannot wait for, and what must take turns, goes through the store.
    const isLimited = hasCeilings(settings)
    const waitsInStore = (message: NewMessage): boolean =>
      isLimited || delayOf(message, settings, now) > capabilities.delayMsMax
    const valid = request.messages.filter((_, index) => refusals[index] === undefined)
    const direct = valid.filter((message) => !waitsInStore(message))
    const waiting = valid.filter(waitsInStore)
    if (direct.length > 0) this.held.noteUntracked(queue.name)
    const [sent, stored] = await Promise.all([
      direct.length > 0
        ? queue.carrier.send({
            queue: queue.name,
            messages: direct.map((message) =>
              directMessage(
                message,
                settings.type === 'fifo' ? null : delayOf(message, settings, now),
              ),
            ),
          })
        : [],
      waiting.length > 0 ? store.send({ ...request, messages: waiting }) : [],
    ])
    this.noteChange()
    const count = (status: CarrierSent['status']): number =>
      sent.filter((one) => one.status === status).length
    this.tally.add(queue.name, 'sent', count('created'))
    this.tally.add(queue.name, 'deduplicated', count('duplicate'))
    let nextSent = 0
    let nextStored = 0
    return request.messages.map((message, index) => {
      const error = refusals[index]
      if (error !== undefined) return { status: 'refused', error }
      if (waitsInStore(message)) return stored[nextStored++] ?? lostResult
      return this.#result(sent[nextSent++])
    })
  }

  #result(sent: CarrierSent | undefined): SendResult {
    if (sent === undefined) return lostResult
    if (sent.status === 'refused') return sent
    return { ...sent, sequence: sent.sequence ?? unnumbered }
  }

  /** Tells the store what the carrier has, for statistics, metrics and alarms. */
  async noteLevels({ name: queue, carrier }: CarriedQueue): Promise<void> {
    if (!this.held.hasUntracked(queue)) return
    await this.#options.carried.note({ queue, levels: await carrier.levels({ queue }) })
  }

  async noteAllLevels(): Promise<void> {
    for (const name of this.#relays.keys()) {
      const queue = await this.queues.find(name).catch(() => undefined)
      if (queue !== undefined) await this.noteLevels(queue)
    }
  }

  #relayOf(queue: CarriedQueue): Relay {
    const known = this.#relays.get(queue.name)
    if (known !== undefined) return known
    const { store, carried, ports } = this.#options
    const onFailure = (error: unknown): void => this.#report(queue.name, error)
    const onUntracked = (): void => this.held.noteUntracked(queue.name)
    const relay = new Relay({ store, carried, queue, ports, onUntracked, onFailure })
    this.#relays.set(queue.name, relay)
    relay.noteChange()
    return relay
  }

  #report(queue: string, error: unknown): void {
    const reason = error instanceof MillraceError ? error.message : 'Its carrier failed.'
    this.#options.onNotice(`${queue}: ${reason}`, error)
  }
}

function hasCeilings({ ceilings }: QueueSettings): boolean {
  const { running, runningPerTenant, runningPerType, rate, perKey } = ceilings
  if (running !== null || runningPerTenant !== null || rate !== null) return true
  return perKey.length > 0 || Object.keys(runningPerType).length > 0
}

/** A request that names a delivery of a carrier, with the receipt that the store knows. */
function withStoredReceipt(request: unknown): unknown {
  const { receipt, on, queue }: { receipt?: unknown; on?: unknown; queue?: unknown } =
    Object(request)
  if (on !== undefined) return { ...Object(request), on: withStoredReceipt(on) }
  const parsed = typeof receipt === 'string' ? parseReceipt(receipt) : undefined
  const stored = parsed?.queue === queue ? parsed?.stored : undefined
  return stored == null ? request : { ...Object(request), receipt: stored }
}

const lostResult: SendResult = {
  status: 'refused',
  error: new MillraceError('carrier_failed'),
}

function directMessage(message: NewMessage, delayMs: number | null): CarrierMessage {
  const { body, attributes = {}, systemAttributes = {}, group, deduplicationId } = message
  return {
    labels: null,
    body,
    attributes,
    systemAttributes,
    delayMs,
    group: group ?? null,
    deduplicationId: deduplicationId ?? null,
  }
}
