/**
 * A backend whose content is sealed: message bodies and attributes, payloads, results, errors, items, data of
 * flows, notes. The store behind it sees sealed texts only, so this works for every store. Names, ids, groups,
 * tenants, owners, keys, labels and times stay readable, because stores look things up by them.
 */
import type { Backend, Delivery } from '../backends/backend.ts'
import type { CarriedStore } from '../backends/carried-store.ts'
import type { CollectorStore } from '../backends/collector-store.ts'
import type { FlowStore } from '../backends/flow-store.ts'
import type { InboxStore } from '../backends/inbox-store.ts'
import type { JobStore } from '../backends/job-store.ts'
import type { ContentForm, KeyStore } from '../backends/key-store.ts'
import type { ScheduleStore } from '../backends/schedule-store.ts'
import type { Cipher } from './cipher.ts'
import { opened } from './open-results.ts'
import { resealed } from './reseal.ts'
import { Sealer } from './seal-requests.ts'

export function sealedBackend(backend: Backend, cipher: Cipher): Backend {
  const sealer = new Sealer(cipher)
  const sealed = <Store extends object>(store: Store, seals: Seals<Store>): Store =>
    sealedStore(store, seals, cipher)
  return {
    capabilities: backend.capabilities,
    switches: backend.switches,
    budgets: backend.budgets,
    findings: backend.findings,
    metrics: backend.metrics,
    alarms: backend.alarms,
    stacks: backend.stacks,
    keys: backend.keys && sealedKeys(backend.keys, cipher),
    otherThread: backend.otherThread,
    carried: backend.carried && sealed(backend.carried, carriedSeals(sealer)),
    jobs: backend.jobs && sealed(backend.jobs, jobSeals(sealer)),
    flows: backend.flows && sealed(backend.flows, flowSeals(sealer)),
    collectors: backend.collectors && sealed(backend.collectors, collectorSeals(sealer)),
    inboxes: backend.inboxes && sealed(backend.inboxes, inboxSeals(sealer)),
    schedules: backend.schedules && sealed(backend.schedules, scheduleSeals(sealer)),
    ...sealed<SealedCalls>(backend, callSeals(sealer)),
    receive: async (request) => {
      // Those that `onLeased` is called with are the ones that are returned.
      const known = new Map<string, Delivery>()
      const open = (delivery: Delivery): Delivery => {
        const before = known.get(delivery.receipt)
        if (before !== undefined) return before
        const delivered = opened(cipher, delivery)
        known.set(delivery.receipt, delivered)
        return delivered
      }
      const { onLeased } = request
      const deliveries = await backend.receive({
        ...request,
        ...(onLeased && { onLeased: (leased) => onLeased(leased.map(open)) }),
      })
      return deliveries.map(open)
    },
  }
}

function sealedKeys(store: KeyStore, cipher: Cipher): KeyStore {
  const rewrite = (text: string, form: ContentForm): string | undefined =>
    resealed(cipher, text, form)
  return {
    ...store,
    sealing: cipher.sealingKey,
    rewrite: (request) => store.rewrite({ rewrite, ...request }),
  }
}

/** How each request to a store is sealed; null where it holds no content. */
type Seals<Store> = {
  readonly [Name in keyof Store]: Store[Name] extends (request: infer Request) => unknown
    ? ((request: Request) => Request) | null
    : never
}

type Method = (request: unknown) => unknown

function sealedStore<Store extends object>(
  store: Store,
  seals: Seals<Store>,
  cipher: Cipher,
): Store {
  const methods = store as Readonly<Record<string, Method>>
  const entries: [string, Method | null][] = Object.entries(seals)
  return Object.fromEntries(
    entries.map(([name, seal]): [string, Method] => [
      name,
      (request) => {
        const result = methods[name]?.(seal === null ? request : seal(request))
        return result instanceof Promise
          ? result.then((value) => opened(cipher, value))
          : opened(cipher, result)
      },
    ]),
  ) as Store
}

type SealedCalls = Omit<
  {
    [Name in keyof Backend as Backend[Name] extends (request: never) => unknown
      ? Name
      : never]: Backend[Name]
  },
  'receive'
>

function callSeals(sealer: Sealer): Seals<SealedCalls> {
  return {
    send: (request) => ({
      ...request,
      messages: request.messages.map((message) => sealer.message(message)),
    }),
    settle: (request) => ({
      ...request,
      settlements: request.settlements.map((settlement) => sealer.settlement(settlement)),
    }),
    createQueue: null,
    readQueue: null,
    listQueues: null,
    changeQueue: null,
    tagQueue: null,
    deleteQueue: null,
    purgeQueue: null,
    queueStatistics: null,
    listDeadLetterSources: null,
    whenReady: null,
    leaseStates: null,
    readLeases: null,
    extend: null,
    peek: null,
    startMoveTask: null,
    listMoveTasks: null,
    cancelMoveTask: null,
    sweep: null,
    check: null,
    backup: null,
    close: null,
  }
}

function jobSeals(sealer: Sealer): Seals<JobStore> {
  return {
    enqueue: (request) => ({ ...request, jobs: request.jobs.map((job) => sealer.job(job)) }),
    enqueueWithin: (request) => ({ ...request, jobs: request.jobs.map((job) => sealer.job(job)) }),
    read: null,
    list: null,
    cancel: null,
    retry: null,
    reschedule: null,
    promote: null,
    attempts: null,
    logs: null,
    stuck: null,
    reportProgress: (request) => sealer.logged(request),
    readReceipt: null,
  }
}

function flowSeals(sealer: Sealer): Seals<FlowStore> {
  return {
    open: (request) => sealer.flow(request),
    add: (request) => ({ ...request, units: sealer.units(request.units) }),
    seal: null,
    mark: (request) => sealer.marks(request),
    start: (request) => sealer.work(request),
    cancel: null,
    resume: (request) => sealer.work(request),
    read: null,
    list: null,
    units: null,
    counts: null,
  }
}

function collectorSeals(sealer: Sealer): Seals<CollectorStore> {
  return {
    add: (request) => sealer.items(request),
    begin: null,
    read: null,
    list: null,
    flush: null,
    repair: null,
  }
}

function carriedSeals(sealer: Sealer): Seals<CarriedStore> {
  return {
    take: null,
    sent: null,
    untake: null,
    note: null,
    keep: null,
    admission: null,
    arrive: (request) => ({
      ...request,
      messages: request.messages.map(({ message, job, ...others }) => ({
        ...others,
        message: sealer.message(message),
        job: job && sealer.job(job),
      })),
    }),
    settle: (request) => ({
      ...request,
      settlements: request.settlements.map(({ settlement, message, ...others }) => ({
        ...others,
        settlement: sealer.settlement(settlement),
        ...(message && { message: sealer.message(message) }),
      })),
    }),
  }
}

function inboxSeals(sealer: Sealer): Seals<InboxStore> {
  return {
    list: null,
    counts: null,
    read: null,
    claim: null,
    renew: null,
    note: (request) => ({ ...request, note: sealer.text(request.note) }),
    resolve: (request) => ({
      ...withNote(sealer, request),
      ...(request.emits && { emits: request.emits.map(sealer.emittedMessage) }),
    }),
    release: (request) => withNote(sealer, request),
    history: null,
    used: null,
  }
}

function withNote<Request extends { readonly note?: string }>(
  sealer: Sealer,
  request: Request,
): Request {
  return request.note === undefined ? request : { ...request, note: sealer.text(request.note) }
}

function scheduleSeals(sealer: Sealer): Seals<ScheduleStore> {
  return {
    now: null,
    ensure: null,
    due: null,
    set: (request) => ({
      ...request,
      schedules: request.schedules.map((schedule) => ({
        ...schedule,
        definition: sealer.text(schedule.definition),
        example: sealer.emitted(schedule.example),
      })),
    }),
    remove: null,
    // The definition of a tick is only compared.
    tick: (request) => ({
      ticks: request.ticks.map(({ emission, failure, ...tick }) => ({
        ...tick,
        ...(emission && { emission: sealer.emitted(emission) }),
        ...(failure !== undefined && { failure: sealer.text(failure) }),
      })),
    }),
    runNow: (request) => ({ ...request, emission: sealer.emitted(request.emission) }),
    pause: null,
    resume: null,
    read: null,
    list: null,
    renew: null,
    reportUnserved: null,
  }
}
