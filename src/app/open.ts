/**
 * Opens an app: brings its queues into being on a backend, starts the upkeep, and hands out one typed
 * handle per queue and one for all jobs. This is the one place where the environment is read and a backend is chosen.
 */
import type { Backend, Backup, BackupReport, MoveTask } from '../backends/backend.ts'
import type { App } from '../contracts/define-app.ts'
import { isJobsQueue, type JobsQueue } from '../contracts/jobs-declaration.ts'
import type { DeclaredQueue } from '../contracts/queue-declaration.ts'
import { defaultStage } from '../contracts/resolve-names.ts'
import { resolveTopology, type Topology } from '../contracts/resolve-topology.ts'
import type { ClockChange } from '../core/clock-change.ts'
import { type Duration, durationMs } from '../core/durations.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { type Ports, systemPorts } from '../core/ports.ts'
import {
  type CollectorHandles,
  createCollectorDesk,
  refuseCollectors,
} from '../flows/collectors.ts'
import { ensureSchedules } from '../flows/ensure-schedules.ts'
import { type ChainHandles, createFlowDesk, type FlowHandles, refuseFlows } from '../flows/flows.ts'
import { createSchedules, type Schedules } from '../flows/schedules.ts'
import { type AppJobs, createAppJobs } from '../jobs/app-jobs.ts'
import { createDrafter } from '../jobs/emitter.ts'
import { Sweeper } from '../maintenance/sweeper.ts'
import { HandlerTally } from '../observability/handler-tally.ts'
import { type Logger, silentLogger } from '../observability/logger.ts'
import { type Alarms, createAlarms } from '../operations/alarms.ts'
import { createInbox, type Inbox, type InboxMessage } from '../operations/inbox.ts'
import { inspectorOf, type QueueInspector } from '../operations/inspect.ts'
import { createMetrics, type Metrics } from '../operations/metrics.ts'
import { purgerOf, type QueuePurger } from '../operations/purge.ts'
import { type Redrive, type RedriveOptions, redrive } from '../operations/redrive.ts'
import {
  type BudgetDesk,
  createBudgetDesk,
  createSwitches,
  type Switches,
} from '../operations/switches.ts'
import { createProducer, type QueueProducer } from '../producer/queue-producer.ts'
import type { RefusedDelivery } from '../receiving/check-deliveries.ts'
import { createConsumer, type QueueConsumer } from '../receiving/queue-consumer.ts'
import type { Worker } from '../worker/worker.ts'
import type { UntypedWorkerOptions, WorkerOptions } from '../worker/worker-options.ts'
import { appAlarmOwner, watchAppAlarms } from './app-alarms.ts'
import { startBackground } from './background.ts'
import { prepareDataDirectory } from './data-directory.ts'
import { ensureQueues } from './ensure-queues.ts'
import { heldNamesIn } from './held-names.ts'
import { alarmTold, type Notice, noticesTo } from './notice.ts'
import { openWorker } from './open-worker.ts'

export interface OpenOptions {
  /** Where the embedded store lives; created when missing. Default MILLRACE_DATA, or `.millrace`. */
  readonly data?: string
  /** Part of the queues' names. Default MILLRACE_STAGE, the app's own stage, or `dev`. */
  readonly stage?: string
  /** A backend instead of the embedded store. Whoever opened it closes it. */
  readonly backend?: Backend
  /** Time, chance and identity. Default: those of the machine. */
  readonly ports?: Ports
  /**
   * Told of messages that were refused, of what failed in the background, of what the janitor has found,
   * of alarms that change their state, and of jumps of the wall clock. Default: a line in the log, or a process warning without one.
   */
  readonly onNotice?: (notice: Notice) => void
  /** Gets one line per transition of a job; any logger with these four methods. Default: none. */
  readonly log?: Logger
  /**
   * Lets alarms post to webhooks on this machine and in private networks. Default: the variable
   * MILLRACE_PRIVATE_WEBHOOKS (`allow` or `refuse`), or no.
   */
  readonly allowPrivateWebhooks?: boolean
  /** How long a call waits for other processes that write to the store. Default 1m. */
  readonly busyTimeout?: Duration
}

export interface QueueHandle<Queue extends DeclaredQueue>
  extends QueueProducer<Queue>,
    QueueConsumer<Queue>,
    JobsQueueHandle {}

/** What every queue offers. A queue of jobs offers no more: its jobs go through `mill.jobs`. */
export interface JobsQueueHandle extends QueueInspector, QueuePurger {
  /** The queue's name on the backend. */
  readonly name: string
  /** Where its dead letters go; null when it declares no such queue. */
  readonly deadLetters: DeadLetterHandle | null
}

export type HandleOf<Queue extends DeclaredQueue> = [Queue] extends [JobsQueue]
  ? JobsQueueHandle
  : QueueHandle<Queue>

export interface DeadLetterHandle extends QueueInspector, QueuePurger {
  /** The dead-letter queue's name on the backend. */
  readonly name: string
  /** Sends the dead letters back; one redrive at a time. */
  redrive(options?: RedriveOptions): Promise<Redrive>
  /** The latest redrives, newest first, whoever started them. */
  redrives(): Promise<readonly MoveTask[]>
}

export interface Mill<Opened extends App = App> extends AsyncDisposable {
  readonly app: Opened
  readonly stage: string
  /** The file of the embedded store, for transactions of your own; null on a backend you brought. */
  readonly storeFile: string | null
  readonly queues: { readonly [Key in keyof Opened['queues']]: HandleOf<Opened['queues'][Key]> }
  /** Tracked jobs, of the queues that were declared with `jobs`. */
  readonly jobs: AppJobs<Opened['queues']>
  /** Fan-out and fan-in: work in units, and what follows when all of them have ended. */
  readonly flows: FlowHandles<Opened['queues'], Opened>
  /** Steps that follow each other. */
  readonly chains: ChainHandles<Opened['queues'], Opened>
  /** Items of one key, merged into one message. */
  readonly collectors: CollectorHandles<Opened>
  /** Kill switches: stop work of a queue, a type, a tier, a tenant, or by name. */
  readonly switches: Switches
  /** What handlers have spent. */
  readonly budgets: BudgetDesk
  /** How queues fare by the minute, and values of the app's own. */
  readonly metrics: Metrics
  /** Conditions that somebody should hear of: their states, their past, and testing them. */
  readonly alarms: Alarms
  /** What is sent by the clock: when, and pausing or running it by hand. */
  readonly schedules: Schedules<Opened>
  /** The messages of a queue in the hands of people: claimed, renewed, resolved or given back. */
  inbox<const Key extends keyof Opened['queues'] & string>(
    queue: Key,
  ): Inbox<InboxMessage<Opened['queues'][Key]>>
  /** Makes a worker for some of the queues; `run` or `start` sets it to work. */
  worker<const Polled extends keyof Opened['queues'] & string>(
    options: WorkerOptions<Opened['queues'], Polled, Opened>,
  ): Worker
  /**
   * Copies the store into a new file while it is in use, and verifies the copy. The file gets its name
   * when it is whole; one that exists is refused.
   */
  backup(file: string, options?: BackupOptions): Promise<BackupReport>
  /**
   * Stops the workers, ends parked receives, finishes what has begun, lets go of the store. Calls
   * share one promise.
   */
  close(): Promise<void>
}

export type BackupOptions = Omit<Backup, 'file'>

export async function open<const Opened extends App>(
  app: Opened,
  options: OpenOptions = {},
): Promise<Mill<Opened>> {
  const { ports = systemPorts, log = silentLogger } = options
  const { onNotice = noticesTo(options.log) } = options
  const onChange = alarmTold(options)
  const stage = options.stage ?? (process.env['MILLRACE_STAGE'] || app.stage || defaultStage)
  const topology = resolveTopology(app, stage)
  const heldNames = heldNamesIn(process.env, topology.planned)
  const { backend, file: storeFile } =
    options.backend === undefined
      ? await openEmbedded(options, ports, onNotice)
      : { backend: options.backend, file: null }
  const closeBackend = async (): Promise<void> => {
    if (options.backend === undefined) await backend.close()
  }
  const alarmWatch = watchAppAlarms({ app, stage, topology, backend, ports, onChange, onNotice })
  try {
    refuseFlows(app, backend)
    refuseCollectors(app, backend)
    await ensureQueues(backend, topology)
    await ensureSchedules({ app, stage, queues: topology.queues, backend, ids: ports.ids })
    await alarmWatch?.declare()
  } catch (error) {
    await closeBackend()
    throw error
  }
  const sweeper = new Sweeper({
    backend,
    timers: ports.timers,
    onFailure: (failure) => onNotice({ kind: 'sweep_failed', ...failure }),
  })
  sweeper.start()
  const tally = new HandlerTally((key) => topology.queues.find((one) => one.key === key)?.name)
  const background = startBackground({
    app,
    stage,
    topology,
    backend,
    ports,
    log,
    alarmWatch,
    tally,
    onFailure: (agent, error, retryInMs) =>
      onNotice({ kind: 'agent_failed', agent, error, retryInMs }),
    onNotice,
    heldNames,
    allowPrivate: options.allowPrivateWebhooks,
    takeExpired: () => sweeper.takeExpired(),
  })

  const drafter = createDrafter({ app, backend, queues: topology.queues, ids: ports.ids })
  const scope = { app: app.name, stage }
  const desk = createFlowDesk<Opened['queues'], Opened>({ app, scope, backend, drafter })
  const { queues } = topology
  const collecting = createCollectorDesk<Opened>({ app, scope, queues, backend, drafter })
  const workers: Worker[] = []
  let closed: Promise<void> | undefined
  const close = (): Promise<void> => {
    closed ??= Promise.all(workers.map((worker) => worker.stop()))
      .then(() => Promise.all([background.stop(), sweeper.stop()]))
      .then(closeBackend)
    return closed
  }
  return {
    app,
    stage,
    storeFile,
    queues: handlesOf<Opened>({ topology, backend, ports, onNotice, heldNames }),
    jobs: createAppJobs<Opened['queues']>({ app, backend, ports, log, queues: topology.queues }),
    flows: desk.flows,
    chains: desk.chains,
    collectors: collecting.collectors,
    switches: createSwitches({ backend, queues: topology.queues, heldNames }),
    budgets: createBudgetDesk(backend, app.budgets),
    metrics: createMetrics({ backend, clock: ports.clock, scope, queues: topology.queues }),
    alarms: createAlarms({ backend, onChange, owner: appAlarmOwner({ app, stage }) }),
    schedules: createSchedules<Opened>({
      app,
      stage,
      queues: topology.queues,
      backend,
      ids: ports.ids,
      log,
    }),
    inbox: (key) => inboxOf({ topology, backend, heldNames }, key),
    worker: (workerOptions) => {
      // The types have seen to it that every queue and type has its handler.
      const untyped = workerOptions as unknown as UntypedWorkerOptions
      const parts = { app, topology, backend, ports, log, tally, heldNames }
      const setup = { ...parts, drafter, flows: desk.drafts, collectors: collecting }
      const worker = openWorker(setup, untyped)
      workers.push(worker)
      return worker
    },
    backup: (file, given) => backend.backup({ ...given, file }),
    close,
    [Symbol.asyncDispose]: close,
  }
}

async function openEmbedded(
  options: OpenOptions,
  ports: Ports,
  onNotice: (notice: Notice) => void,
): Promise<EmbeddedStore> {
  const { data = process.env['MILLRACE_DATA'] || '.millrace', busyTimeout } = options
  const busy = busyTimeout && { busyTimeoutMs: durationMs(busyTimeout, 'busyTimeout') }
  const { file } = await prepareDataDirectory(data)
  const { openSqlite } = await import('../backends/sqlite/index.ts')
  const onClockChange = (change: ClockChange): void => onNotice({ kind: 'clock', ...change })
  return { backend: await openSqlite({ file, ports, ...busy, onClockChange }), file }
}

interface EmbeddedStore {
  readonly backend: Backend
  readonly file: string
}

interface HandleSetup {
  readonly topology: Topology
  readonly backend: Backend
  readonly ports: Ports
  readonly onNotice: (notice: Notice) => void
  readonly heldNames: readonly string[]
}

function handlesOf<Opened extends App>(setup: HandleSetup): Mill<Opened>['queues'] {
  const { topology, backend, ports, onNotice, heldNames } = setup
  const onRefused = (refused: RefusedDelivery): void =>
    onNotice({ kind: 'delivery_refused', ...refused })
  const handles = topology.queues.map(({ key, name, declared }) => {
    const parts = { backend, name, declared, onRefused, heldNames }
    const target = topology.planned.find((planned) => planned.queue === name)?.settings.deadLetter
    const handle = {
      name,
      ...(isJobsQueue(declared) ? {} : { ...createProducer(parts), ...createConsumer(parts) }),
      ...inspectorOf(backend, name),
      ...purgerOf(backend, name),
      deadLetters: target ? deadLettersOf(backend, ports, target.queue) : null,
    }
    return [key, Object.freeze(handle)]
  })
  // The handles were made from this very app, key by key; only the types of its messages are added.
  return Object.freeze(Object.fromEntries(handles)) as Mill<Opened>['queues']
}

function inboxOf<Message>(
  { topology, backend, heldNames }: Pick<HandleSetup, 'topology' | 'backend' | 'heldNames'>,
  key: string,
): Inbox<Message> {
  const queue = topology.queues.find((one) => one.key === key)
  if (queue === undefined) throw new MillraceError('queue_not_found')
  const { name, declared } = queue
  // What its contract lets through has the type of the contract's output.
  return createInbox({ backend, name, declared, heldNames }) as Inbox<Message>
}

function deadLettersOf(backend: Backend, { timers }: Ports, name: string): DeadLetterHandle {
  return Object.freeze({
    name,
    ...inspectorOf(backend, name),
    ...purgerOf(backend, name),
    redrive: (options?: RedriveOptions) => redrive({ backend, timers, source: name }, options),
    redrives: () => backend.listMoveTasks({ source: name, limit: 10 }),
  })
}
