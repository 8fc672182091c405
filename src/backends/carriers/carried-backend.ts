/**
 * A store with carriers: queues that are placed on a carrier have their messages transported by it, and all else
 * is the store's. A queue without a carrier is the store's alone.
 */
import { carrierAnnotation } from '../../core/carrier-annotation.ts'
import { delayOf, refuseMessage } from '../../core/check-message.ts'
import type { NewMessage } from '../../core/message.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import type { Ports } from '../../core/ports.ts'
import type { QueueSettings } from '../../core/queue-settings.ts'
import type {
  Backend,
  ChangeQueue,
  CreateQueue,
  LeaseState,
  Page,
  QueueRecord,
  Send,
  SendResult,
  SweepReport,
} from '../backend.ts'
import type { Capabilities } from '../capabilities.ts'
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

export interface CarriedOptions {
  readonly store: Backend
  /** By the name that queues choose them by. */
  readonly carriers: ReadonlyMap<string, Carrier>
  /** The carrier of new queues that choose none. Default: the store. */
  readonly byDefault?: string | undefined
  readonly ports: Ports
  /** Called with differences, and with failures that are tried again. */
  readonly onNotice?: (text: string, error?: unknown) => void
}

export interface CarriedBackend extends Backend {
  /** Resolves when nothing of this process waits to be sent. */
  whenRelayed(): Promise<void>
}

export function carriedBackend(options: CarriedOptions): CarriedBackend {
  const { store, carriers, byDefault, ports, onNotice = () => {} } = options
  const { carried } = store
  if (carried === null) {
    const message = 'This store cannot be used with a carrier.'
    throw new MillraceError('unsupported', { message })
  }
  const parts = new Parts({ store, carried, carriers, ports, onNotice })
  const { queues, held, arrivals, settlements, intake } = parts
  /** Changes of the store may have put something into an outbox. */
  const noting = <Store extends object>(part: Store): Store => parts.noting(part)

  let closed: Promise<void> | undefined
  const closeAll = async (): Promise<void> => {
    await arrivals.close()
    await parts.stop()
    await Promise.all([...carriers.values()].map((carrier) => carrier.close()))
    await store.close()
  }

  return {
    ...store,
    capabilities: capabilitiesOf(store, carriers, byDefault),
    jobs: store.jobs && noting(store.jobs),
    budgets: store.budgets && noting(store.budgets),
    flows: store.flows && noting(store.flows),
    collectors: store.collectors && parts.collectors(noting(store.collectors)),
    schedules: store.schedules && noting(store.schedules),
    alarms: store.alarms && noting(store.alarms),
    metrics: store.metrics && parts.flushingTally(store.metrics),
    switches: store.switches && noting(store.switches),
    inboxes: store.inboxes && intake.inboxes(noting(store.inboxes)),
    // Another thread could extend the leases of the store, but not those of a carrier.
    otherThread: null,

    createQueue: async (request) => {
      const existing = await store.readQueue({ queue: request.queue }).catch(() => undefined)
      const { queue, created } = await store.createQueue(withCarrier(request, existing, byDefault))
      await parts.ensure(request.queue)
      return { queue: withoutCarrier(queue), created }
    },
    readQueue: async (request) => withoutCarrier(await store.readQueue(request)),
    listQueues: async (request) => pageWithoutCarriers(await store.listQueues(request)),
    listDeadLetterSources: async (request) =>
      pageWithoutCarriers(await store.listDeadLetterSources(request)),
    tagQueue: async (request) => withoutCarrier(await store.tagQueue(request)),
    changeQueue: async (request) => {
      const queue = await queues.find(request.queue)
      const changed = await store.changeQueue(keepingCarrier(request, queue))
      await parts.ensure(request.queue)
      return withoutCarrier(changed)
    },
    deleteQueue: async (request) => {
      const queue = await queues.find(request.queue)
      await parts.stopRelay(request.queue)
      await store.deleteQueue(request)
      queues.forget(request.queue)
      await queue?.carrier.removeQueue(request)
    },
    purgeQueue: async (request) => {
      const queue = await queues.find(request.queue)
      await store.purgeQueue(request)
      held.forgetQueue(request.queue)
      await queue?.carrier.purge({ queue: request.queue })
    },
    queueStatistics: async (request) => {
      const queue = await queues.find(request.queue)
      await parts.tally.flush()
      if (queue !== undefined) await parts.noteLevels(queue)
      return store.queueStatistics(request)
    },
    send: async (request) => {
      const queue = await queues.find(request.queue)
      return queue === undefined ? store.send(request) : parts.send(queue, request)
    },
    receive: async (request) => {
      const queue = await queues.find(request.queue)
      return queue === undefined ? store.receive(request) : arrivals.receive(request, queue)
    },
    whenReady: async (request) => {
      const queue = await queues.find(request.queue).catch(() => undefined)
      return queue === undefined ? store.whenReady(request) : arrivals.watch(request)
    },
    leaseStates: async ({ queue, receipts }) => {
      const parsed = receipts.map(parseReceipt)
      const ofStore = receipts.map((text, index) => parsed[index]?.stored ?? text)
      const states = await store.leaseStates({ queue, receipts: ofStore })
      return receipts.map((text, index): LeaseState => {
        const isUntracked = parsed[index] !== undefined && parsed[index]?.stored === null
        return isUntracked ? held.state(queue, text) : (states[index] ?? 'gone')
      })
    },
    readLeases: async ({ queue, receipts }) => {
      const parsed = receipts.map(parseReceipt)
      const ofStore = receipts.map((text, index) => parsed[index]?.stored ?? text)
      const deliveries = await store.readLeases({ queue, receipts: ofStore })
      return receipts.map((receipt, index) => {
        const isUntracked = parsed[index] !== undefined && parsed[index]?.stored === null
        if (!isUntracked) {
          const delivery = deliveries[index] ?? null
          return delivery && { ...delivery, receipt }
        }
        return held.live(queue, receipt)
      })
    },
    extend: async (request) => {
      const queue = await queues.find(request.queue)
      return queue === undefined ? store.extend(request) : settlements.extend(queue, request.leases)
    },
    settle: async (request) => {
      const queue = await queues.find(request.queue)
      const results = await (queue === undefined
        ? store.settle(request)
        : settlements.settle(queue, request.settlements))
      parts.noteChange()
      return results
    },
    peek: async (request) => {
      const queue = await queues.find(request.queue)
      if (queue === undefined) return store.peek(request)
      await parts.flush(queue)
      return intake.peek(queue, request)
    },
    startMoveTask: async (request) => {
      const queue = await queues.find(request.source)
      if (queue !== undefined) await intake.takeAll(queue)
      const task = await store.startMoveTask(request)
      parts.noteChange()
      return task
    },
    sweep: async (): Promise<SweepReport> => {
      await parts.tally.flush()
      const report = await store.sweep()
      if (report.changed > 0) parts.noteChange()
      return report
    },
    check: async () => {
      await Promise.all([store.check(), ...[...carriers.values()].map((one) => one.check())])
    },
    close: () => (closed ??= closeAll()),
    whenRelayed: () => parts.flushAll(),
  }
}

function withCarrier(
  request: CreateQueue,
  existing: QueueRecord | undefined,
  byDefault: string | undefined,
): CreateQueue {
  const given = request.settings?.annotations
  // An existing queue stays where it is, and is compared by what was given.
  const carrierName =
    existing === undefined
      ? (given?.[carrierAnnotation] ?? byDefault)
      : given && existing.settings.annotations[carrierAnnotation]
  if (carrierName === undefined) return request
  const annotations = { ...request.settings?.annotations, [carrierAnnotation]: carrierName }
  return { ...request, settings: { ...request.settings, annotations } }
}

function hasCeilings({ ceilings }: QueueSettings): boolean {
  const { running, runningPerTenant, runningPerType, rate, perKey } = ceilings
  if (running !== null || runningPerTenant !== null || rate !== null) return true
  return perKey.length > 0 || Object.keys(runningPerType).length > 0
}

/** Where a queue is, is not one of its settings to others. */
function withoutCarrier(record: QueueRecord): QueueRecord {
  const { [carrierAnnotation]: _, ...annotations } = record.settings.annotations
  return { ...record, settings: { ...record.settings, annotations } }
}

function pageWithoutCarriers({ items, ...page }: Page<QueueRecord>): Page<QueueRecord> {
  return { ...page, items: items.map(withoutCarrier) }
}

function keepingCarrier(request: ChangeQueue, queue: CarriedQueue | undefined): ChangeQueue {
  const carrierName = queue?.record.settings.annotations[carrierAnnotation]
  const { annotations: given } = request.changes
  if (carrierName === undefined || given === undefined) return request
  const annotations = { ...given, [carrierAnnotation]: carrierName }
  return { ...request, changes: { ...request.changes, annotations } }
}

/** What all queues can do, those on carriers included. */
function capabilitiesOf(
  store: Backend,
  carriers: ReadonlyMap<string, Carrier>,
  byDefault: string | undefined,
): Capabilities {
  const { capabilities } = store
  const carrier = byDefault === undefined ? undefined : carriers.get(byDefault)
  const common = { ...capabilities, concurrentCalls: true }
  if (carrier === undefined) return common
  const { name, fifo, peek, fencedReceipts, uncountedRelease } = carrier.capabilities
  return {
    ...common,
    name: `${name} on ${capabilities.name}`,
    fifo,
    peek,
    fencedReceipts,
    uncountedRelease,
    lateReceipts: false,
    ordered: false,
    exactFigures: false,
    receiveAttempts: false,
    fairTenants: false,
  }
}

interface PartsOptions {
  readonly store: Backend
  readonly carried: CarriedStore
  readonly carriers: ReadonlyMap<string, Carrier>
  readonly ports: Ports
  readonly onNotice: (text: string, error?: unknown) => void
}

class Parts {
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

  /** A trigger that came from elsewhere is tracked from here on, because its batch is. */
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
