/**
 * Opens an app: creates or changes its queues, starts maintenance, and returns a typed handle per queue and
 * one for all jobs.
 */
import type { Backend } from '../backends/backend.ts'
import type { App } from '../contracts/define-app.ts'
import { isJobsQueue } from '../contracts/jobs-declaration.ts'
import { defaultStage } from '../contracts/resolve-names.ts'
import { type ResolvedQueues, resolveQueues } from '../contracts/resolve-queues.ts'
import { durationMs } from '../core/durations.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { type OptionNames, refuseUnknownOptions } from '../core/options.ts'
import { type Ports, systemPorts } from '../core/ports.ts'
import { serverDefaults } from '../core/server-defaults.ts'
import { createCollectors, refuseCollectors } from '../flows/collectors.ts'
import { ensureSchedules } from '../flows/ensure-schedules.ts'
import { createFlows, refuseFlows } from '../flows/flows.ts'
import { planSchedules } from '../flows/planned-schedules.ts'
import { createSchedules } from '../flows/schedules.ts'
import { createAppJobs } from '../jobs/app-jobs.ts'
import { createEmitter } from '../jobs/emitter.ts'
import { HandlerTally } from '../observability/handler-tally.ts'
import { silentLogger } from '../observability/logger.ts'
import { createAlarms } from '../operations/alarms/alarms.ts'
import { createInbox, type Inbox } from '../operations/inbox.ts'
import { inspectorOf, purgerOf } from '../operations/inspect.ts'
import { createMetrics } from '../operations/metrics/metrics.ts'
import { type RedriveOptions, redrive } from '../operations/redrive.ts'
import { createBudgets, createSwitches } from '../operations/switches.ts'
import { createProducer } from '../producer/queue-producer.ts'
import type { RefusedDelivery } from '../receiving/check-deliveries.ts'
import { createConsumer } from '../receiving/queue-consumer.ts'
import type { Worker } from '../worker/worker.ts'
import type { UntypedWorkerOptions } from '../worker/worker-options.ts'
import { appAlarmOwner, watchAppAlarms } from './app-alarms.ts'
import { checkReady } from './check-ready.ts'
import { ensureQueues } from './ensure-queues.ts'
import { heldNamesIn } from './held-names.ts'
import { type Maintenance, startAppMaintenance } from './maintenance.ts'
import { alarmListener, type Notice, noticesTo } from './notice.ts'
import type { BackupOptions, DeadLetterHandle, Mill, OpenOptions } from './open.ts'
import { openBackend } from './open-backend.ts'
import { openWorker } from './open-worker.ts'
import { UnstartedWorkers } from './unstarted-workers.ts'

const openOptions: OptionNames<OpenOptions> = {
  data: true,
  stage: true,
  backend: true,
  ports: true,
  onNotice: true,
  log: true,
  allowPrivateWebhooks: true,
  busyTimeout: true,
}
const backupOptions: OptionNames<BackupOptions> = { onProgress: true, signal: true }

export async function openApp<const Opened extends App>(
  app: Opened,
  options: OpenOptions = {},
): Promise<Mill<Opened>> {
  refuseUnknownOptions(options, openOptions)
  const { ports = systemPorts, log = silentLogger } = options
  const { onNotice = noticesTo(options.log) } = options
  const onChange = alarmListener(options)
  const stage = options.stage ?? (process.env['MILLRACE_STAGE'] || app.stage || defaultStage)
  const resolved = resolveQueues(app, stage)
  const heldNames = heldNamesIn(process.env, resolved.planned)
  const { backend, storeFile, closeBackend } = await backendOf(options, ports, onNotice)
  const tally = new HandlerTally((key) => resolved.queues.find((one) => one.key === key)?.name)
  const { queues } = resolved
  const schedulePlan = planSchedules({ app, stage, queues, backend, ids: ports.ids })
  let maintenance: Maintenance
  try {
    const alarmWatch = watchAppAlarms({ app, stage, resolved, backend, ports, onChange, onNotice })
    refuseFlows(app, backend)
    refuseCollectors(app, backend)
    await ensureQueues(backend, resolved)
    await ensureSchedules(schedulePlan, backend)
    await alarmWatch?.declare()
    maintenance = startAppMaintenance({
      app,
      stage,
      resolved,
      backend,
      ports,
      schedulePlan,
      log,
      alarmWatch,
      tally,
      onNotice,
      heldNames,
      allowPrivate: options.allowPrivateWebhooks,
    })
  } catch (error) {
    await closeBackend()
    throw error
  }

  const emitter = createEmitter({ app, backend, queues: resolved.queues, ids: ports.ids })
  const scope = { app: app.name, stage }
  const flows = createFlows<Opened['queues'], Opened>({ app, scope, backend, emitter })
  const collecting = createCollectors<Opened>({ app, scope, queues, backend, emitter })
  const workers: Worker[] = []
  const unstarted = new UnstartedWorkers({ timers: ports.timers, onNotice })
  let closed: Promise<void> | undefined
  const close = (): Promise<void> => {
    closed ??= Promise.all(workers.map((worker) => worker.stop()))
      .then(() => maintenance.close())
      .then(closeBackend)
      // Last, so that a listener that throws does not keep the store open.
      .then(() => unstarted.close())
    return closed
  }
  return {
    app,
    stage,
    storeFile,
    queues: handlesOf<Opened>({ resolved, backend, ports, onNotice, heldNames }),
    jobs: createAppJobs<Opened['queues']>({ app, backend, ports, log, queues: resolved.queues }),
    flows: flows.flows,
    chains: flows.chains,
    collectors: collecting.collectors,
    switches: createSwitches({ backend, queues: resolved.queues, heldNames }),
    budgets: createBudgets(backend, app.budgets),
    metrics: createMetrics({ backend, clock: ports.clock, scope, queues: resolved.queues }),
    alarms: createAlarms({ backend, onChange, owner: appAlarmOwner({ app, stage }) }),
    schedules: createSchedules<Opened>({ app, plan: schedulePlan, backend, ids: ports.ids, log }),
    inbox: (key) => inboxOf({ resolved, backend, heldNames }, key),
    worker: (workerOptions) => {
      // The types ensure that every queue and type has a handler.
      const untyped = workerOptions as unknown as UntypedWorkerOptions
      const parts = { app, resolved, backend, ports, log, tally, heldNames, unstarted }
      const setup = { ...parts, emitter, flows: flows.emits, collectors: collecting }
      const worker = openWorker(setup, untyped)
      workers.push(worker)
      return worker
    },
    ready: () => (closed === undefined ? checkReady(backend, ports) : Promise.reject(appClosed())),
    backup: async (file, given = {}) => {
      refuseUnknownOptions(given, backupOptions)
      return backend.backup({ ...given, file })
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** A backend that the caller passed in stays open. The caller closes it. */
async function backendOf(
  { backend, data, busyTimeout }: OpenOptions,
  ports: Ports,
  onNotice: (notice: Notice) => void,
): Promise<AppBackend> {
  if (backend !== undefined)
    return { backend, storeFile: null, closeBackend: async () => undefined }
  const opened = await openBackend({
    data: data ?? (process.env['MILLRACE_DATA'] || serverDefaults.data),
    create: true,
    ports,
    ...(busyTimeout && { busyTimeoutMs: durationMs(busyTimeout, 'busyTimeout') }),
    onClockChange: (change) => onNotice({ kind: 'clock', ...change }),
  })
  return {
    backend: opened.backend,
    storeFile: opened.directory.file,
    closeBackend: () => opened.backend.close(),
  }
}

function appClosed(): MillraceError {
  return new MillraceError('store_closed', {
    message: 'The app is closed. Open it again to use it.',
  })
}

interface AppBackend extends Pick<Mill, 'storeFile'> {
  readonly backend: Backend
  closeBackend(): Promise<void>
}

interface HandleSetup {
  readonly resolved: ResolvedQueues
  readonly backend: Backend
  readonly ports: Ports
  readonly onNotice: (notice: Notice) => void
  readonly heldNames: readonly string[]
}

function handlesOf<Opened extends App>(setup: HandleSetup): Mill<Opened>['queues'] {
  const { resolved, backend, ports, onNotice, heldNames } = setup
  const onRefused = (refused: RefusedDelivery): void =>
    onNotice({ kind: 'delivery_refused', ...refused })
  const handles = resolved.queues.map(({ key, name, declared }) => {
    const parts = { backend, name, declared, onRefused, heldNames }
    const target = resolved.planned.find((planned) => planned.queue === name)?.settings.deadLetter
    const handle = {
      name,
      ...(isJobsQueue(declared) ? {} : { ...createProducer(parts), ...createConsumer(parts) }),
      ...inspectorOf(backend, name),
      ...purgerOf(backend, name),
      deadLetters: target ? deadLettersOf(backend, ports, target.queue) : null,
    }
    return [key, Object.freeze(handle)]
  })
  // The handles have the keys of this app. Only the message types are added.
  return Object.freeze(Object.fromEntries(handles)) as Mill<Opened>['queues']
}

function inboxOf<Message>(
  { resolved, backend, heldNames }: Pick<HandleSetup, 'resolved' | 'backend' | 'heldNames'>,
  key: string,
): Inbox<Message> {
  const queue = resolved.queues.find((one) => one.key === key)
  if (queue === undefined) throw new MillraceError('queue_not_found')
  const { name, declared } = queue
  // Messages that pass the contract have its output type.
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
