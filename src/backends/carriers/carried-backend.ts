/**
 * A store with carriers: queues that are placed on a carrier have their messages transported by it, and all else
 * is the store's. A queue without a carrier is the store's alone.
 */
import { carrierAnnotation } from '../../core/carrier-annotation.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import type { Ports } from '../../core/ports.ts'
import type {
  Backend,
  ChangeQueue,
  CreateQueue,
  LeaseState,
  Page,
  QueueRecord,
  SweepReport,
} from '../backend.ts'
import type { Capabilities } from '../capabilities.ts'
import { CarriedParts } from './carried-parts.ts'
import type { CarriedQueue } from './carried-queues.ts'
import { parseReceipt } from './carried-receipt.ts'
import type { Carrier } from './carrier.ts'
import { mayChangeStore } from './settlements.ts'

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
  const parts = new CarriedParts({ store, carried, carriers, ports, onNotice })
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
      // What only the carrier has was settled without the store.
      if (request.settlements.some(mayChangeStore)) parts.noteChange()
      else arrivals.wake()
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
