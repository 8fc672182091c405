/**
 * Opens an app: brings its queues into being on a backend, starts the upkeep, and hands out one typed
 * handle per queue and one for all jobs. This is the one place where the environment is read and a backend is chosen.
 */
import type { Backend, MoveTask } from '../backends/backend.ts'
import type { App } from '../contracts/define-app.ts'
import { isJobsQueue, type JobsQueue } from '../contracts/jobs-declaration.ts'
import type { DeclaredQueue } from '../contracts/queue-declaration.ts'
import { defaultStage } from '../contracts/resolve-names.ts'
import { resolveTopology, type Topology } from '../contracts/resolve-topology.ts'
import { type Ports, systemPorts } from '../core/ports.ts'
import type { RefusedDelivery } from '../leases/open-deliveries.ts'
import { createConsumer, type QueueConsumer } from '../leases/queue-consumer.ts'
import { Sweeper } from '../maintenance/sweeper.ts'
import { inspectorOf, type QueueInspector } from '../operations/inspect.ts'
import { purgerOf, type QueuePurger } from '../operations/purge.ts'
import { type Redrive, type RedriveOptions, redrive } from '../operations/redrive.ts'
import { createProducer, type QueueProducer } from '../producer/queue-producer.ts'
import { type AppJobs, createAppJobs } from '../status/app-jobs.ts'
import { prepareDataDirectory } from './data-directory.ts'
import { ensureQueues } from './ensure-queues.ts'
import { type Notice, warnOf } from './notice.ts'

export interface OpenOptions {
  /** Where the embedded store lives; created when missing. Default MILLRACE_DATA, or `.millrace`. */
  readonly data?: string
  /** Part of the queues' names. Default MILLRACE_STAGE, the app's own stage, or `dev`. */
  readonly stage?: string
  /** A backend instead of the embedded store. Whoever opened it closes it. */
  readonly backend?: Backend
  /** Time, chance and identity. Default: those of the machine. */
  readonly ports?: Ports
  /** Told of messages that were refused and of upkeep that failed. Default: a process warning. */
  readonly onNotice?: (notice: Notice) => void
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
  readonly queues: { readonly [Key in keyof Opened['queues']]: HandleOf<Opened['queues'][Key]> }
  /** Tracked jobs, of the queues that were declared with `jobs`. */
  readonly jobs: AppJobs<Opened['queues']>
  /** Ends parked receives, finishes what has begun, lets go of the store. Calls share one promise. */
  close(): Promise<void>
}

export async function open<const Opened extends App>(
  app: Opened,
  options: OpenOptions = {},
): Promise<Mill<Opened>> {
  const { ports = systemPorts, onNotice = warnOf } = options
  const stage = options.stage ?? (process.env['MILLRACE_STAGE'] || app.stage || defaultStage)
  const topology = resolveTopology(app, stage)
  const backend = options.backend ?? (await openEmbedded(options.data, ports))
  const closeBackend = async (): Promise<void> => {
    if (options.backend === undefined) await backend.close()
  }
  try {
    await ensureQueues(backend, topology)
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

  let closed: Promise<void> | undefined
  const close = (): Promise<void> => {
    closed ??= sweeper.stop().then(closeBackend)
    return closed
  }
  return {
    app,
    stage,
    queues: handlesOf<Opened>({ topology, backend, ports, onNotice }),
    jobs: createAppJobs<Opened['queues']>({ backend, ports, queues: topology.queues }),
    close,
    [Symbol.asyncDispose]: close,
  }
}

async function openEmbedded(data: string | undefined, ports: Ports): Promise<Backend> {
  const { file } = await prepareDataDirectory(data ?? (process.env['MILLRACE_DATA'] || '.millrace'))
  const { openSqlite } = await import('../backends/sqlite/index.ts')
  return openSqlite({ file, ports })
}

interface HandleSetup {
  readonly topology: Topology
  readonly backend: Backend
  readonly ports: Ports
  readonly onNotice: (notice: Notice) => void
}

function handlesOf<Opened extends App>(setup: HandleSetup): Mill<Opened>['queues'] {
  const { topology, backend, ports, onNotice } = setup
  const onRefused = (refused: RefusedDelivery): void =>
    onNotice({ kind: 'delivery_refused', ...refused })
  const handles = topology.queues.map(({ key, name, declared }) => {
    const parts = { backend, name, declared, onRefused }
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

function deadLettersOf(backend: Backend, { timers }: Ports, name: string): DeadLetterHandle {
  return Object.freeze({
    name,
    ...inspectorOf(backend, name),
    ...purgerOf(backend, name),
    redrive: (options?: RedriveOptions) => redrive({ backend, timers, source: name }, options),
    redrives: () => backend.listMoveTasks({ source: name, limit: 10 }),
  })
}
