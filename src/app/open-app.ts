/**
 * Opens an app: creates or changes its queues, starts maintenance, and returns a typed handle per queue and
 * one for all jobs.
 */
import type { Backend } from '../backends/backend.ts'
import type { App } from '../contracts/define-app.ts'
import { heldNamesIn } from '../contracts/held-names.ts'
import { isJobsQueue } from '../contracts/jobs-declaration.ts'
import { defaultStage } from '../contracts/resolve-names.ts'
import { type ResolvedQueues, resolveQueues } from '../contracts/resolve-queues.ts'
import { scopeText } from '../contracts/scope-text.ts'
import { describeGiven } from '../core/checks.ts'
import { durationMs } from '../core/durations.ts'
import { logLevels } from '../core/log-line.ts'
import type { AttemptLostListener } from '../core/lost-attempt.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { type OptionNames, refuseUnknownOptions } from '../core/options.ts'
import { type Ports, systemPorts } from '../core/ports.ts'
import { createCollectors, refuseCollectors } from '../flows/collectors.ts'
import { ensureSchedules } from '../flows/ensure-schedules.ts'
import { createFlows, refuseFlows } from '../flows/flows.ts'
import { planSchedules } from '../flows/planned-schedules.ts'
import { createSchedules } from '../flows/schedules.ts'
import { createAppJobs } from '../jobs/app-jobs.ts'
import { createEmitter } from '../jobs/emitter.ts'
import { tracedEmitter } from '../jobs/traced-emitter.ts'
import { HandlerTally } from '../observability/handler-tally.ts'
import { silentLogger } from '../observability/logger.ts'
import { openTraces } from '../observability/open-telemetry.ts'
import { tracedLog } from '../observability/traced-log.ts'
import { tracedJobs, tracedStore } from '../observability/traced-store.ts'
import type { Traces } from '../observability/traces.ts'
import { createAlarms } from '../operations/alarms/alarms.ts'
import { createBudgets, declareBudgets } from '../operations/budgets.ts'
import { createInbox, type Inbox } from '../operations/inbox.ts'
import { inspectorOf, purgerOf } from '../operations/inspect.ts'
import { createMetrics } from '../operations/metrics/metrics.ts'
import { type RedriveOptions, redrive } from '../operations/redrive.ts'
import { createSwitches } from '../operations/switches.ts'
import { createProducer } from '../producer/queue-producer.ts'
import { tracedProducer } from '../producer/traced-producer.ts'
import type { RefusedDelivery } from '../receiving/check-deliveries.ts'
import { createConsumer } from '../receiving/queue-consumer.ts'
import { version } from '../version.ts'
import { createJobReports } from '../worker/job-reports.ts'
import type { DrivenWorker } from '../worker/worker.ts'
import type { UntypedWorkerOptions } from '../worker/worker-options.ts'
import { appAlarmOwner, watchAppAlarms } from './app-alarms.ts'
import { checkReady } from './check-ready.ts'
import { chosenStore } from './chosen-store.ts'
import { ensureQueues } from './ensure-queues.ts'
import { type AppMaintenanceSetup, type Maintenance, startAppMaintenance } from './maintenance.ts'
import { alarmListener, type Notice, noticesTo } from './notice.ts'
import type { BackupOptions, DeadLetterHandle, Mill, OpenOptions } from './open.ts'
import { openBackend } from './open-backend.ts'
import { observerOf, openWorker } from './open-worker.ts'
import { lostAttemptListener } from './report-events.ts'
import { UnstartedWorkers } from './unstarted-workers.ts'

const openOptions: OptionNames<OpenOptions> = {
  store: true,
  data: true,
  carrier: true,
  stage: true,
  backend: true,
  ports: true,
  onNotice: true,
  log: true,
  traces: true,
  allowPrivateWebhooks: true,
  busyTimeout: true,
  encryptionKeys: true,
}
const backupOptions: OptionNames<BackupOptions> = { onProgress: true, signal: true }

/** What tests put in the place of parts of an app. */
export interface TestParts {
  startMaintenance(setup: AppMaintenanceSetup): Maintenance
  /** Changes the options of each worker. */
  workerOptions(options: UntypedWorkerOptions): UntypedWorkerOptions
  onWorker(worker: DrivenWorker): void
}

export async function openApp<const Opened extends App>(
  app: Opened,
  options: OpenOptions = {},
  testParts?: TestParts,
): Promise<Mill<Opened>> {
  refuseUnknownOptions(options, openOptions)
  refuseLog(options.log)
  const { ports = systemPorts } = options
  const traces = await openTraces(options.traces, version)
  const log = tracedLog(options.log || silentLogger, traces)
  const { onNotice = noticesTo(options.log || silentLogger) } = options
  const onChange = alarmListener({ log: options.log || undefined, onNotice: options.onNotice })
  const stage = options.stage ?? (process.env['MILLRACE_STAGE'] || app.stage || defaultStage)
  const resolved = resolveQueues(app, stage)
  const heldNames = heldNamesIn(process.env, resolved.planned)
  const { queues } = resolved
  const printsFailures = options.log === undefined
  const workers: DrivenWorker[] = []
  const onAttemptLost = lostAttemptListener({
    log,
    printsFailures,
    keyOf: (name) => queues.find((queue) => queue.name === name)?.key,
    isHeld: (receipt) => workers.some((worker) => worker.holds(receipt)),
  })
  const listeners = { onNotice, onAttemptLost }
  const { backend, storeFile, closeBackend } = await backendOf(options, ports, listeners)
  const tally = new HandlerTally((key) => queues.find((one) => one.key === key)?.name)
  const schedulePlan = planSchedules({ app, stage, queues, backend, ports, traces })
  const ownBudgets = { scope: scopeText({ app: app.name, stage }), budgets: app.budgets }
  let maintenance: Maintenance
  try {
    const alarmWatch = watchAppAlarms({ app, stage, resolved, backend, ports, onChange, onNotice })
    refuseFlows(app, backend)
    refuseCollectors(app, backend)
    await ensureQueues(backend, resolved)
    await ensureSchedules(schedulePlan, backend)
    await alarmWatch?.declare()
    await declareBudgets({ backend, app: ownBudgets })
    const parts = { app, stage, resolved, backend, ports, log, traces, alarmWatch, tally, onNotice }
    const allowPrivate = options.allowPrivateWebhooks
    const maintained = { ...parts, schedulePlan, heldNames, allowPrivate }
    const startMaintenance = (): Maintenance =>
      testParts?.startMaintenance(maintained) ?? startAppMaintenance(maintained)
    // A tick does not belong to the span in which the app was opened.
    maintenance = traces === undefined ? startMaintenance() : traces.detached(startMaintenance)
  } catch (error) {
    await closeBackend()
    throw error
  }

  const emitter = tracedEmitter(createEmitter({ app, backend, queues, ports }), traces)
  const scope = { app: app.name, stage }
  const parts = { app, scope, queues, backend, emitter, traces }
  const flows = createFlows<Opened['queues'], Opened>(parts)
  const collecting = createCollectors<Opened>(parts)
  const jobs = backend.jobs && traces ? tracedJobs(backend.jobs, traces) : backend.jobs
  const budgets = createBudgets({ backend, app: ownBudgets })
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
    queues: handlesOf<Opened>({ resolved, backend, ports, traces, onNotice, heldNames }),
    jobs: createAppJobs<Opened['queues']>({ app, backend: { jobs }, ports, log, queues }),
    reports: createJobReports({
      backend,
      ports,
      find: (name) => queues.find((queue) => queue.name === name),
      successor: flows.emits.successor,
      observe: observerOf({ backend, log, printsFailures: false, tally }, undefined),
    }),
    flows: flows.flows,
    chains: flows.chains,
    collectors: collecting.collectors,
    switches: createSwitches({ backend, queues: resolved.queues, heldNames }),
    budgets,
    metrics: createMetrics({ backend, clock: ports.clock, scope, queues: resolved.queues }),
    alarms: createAlarms({ backend, onChange, owner: appAlarmOwner({ app, stage }) }),
    schedules: createSchedules<Opened>({ app, plan: schedulePlan, backend, ids: ports.ids, log }),
    inbox: (key) => inboxOf({ resolved, backend, heldNames }, key),
    worker: (workerOptions) => {
      // The types ensure that every queue and type has a handler.
      const untyped = workerOptions as unknown as UntypedWorkerOptions
      const parts = {
        app,
        resolved,
        backend,
        ports,
        log,
        traces,
        tally,
        heldNames,
        unstarted,
        budgets,
      }
      const emits = { emitter, flows: flows.emits, collectors: collecting }
      const setup = { ...parts, ...emits, printsFailures }
      const worker = openWorker(setup, testParts?.workerOptions(untyped) ?? untyped)
      workers.push(worker)
      testParts?.onWorker(worker)
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

/** Otherwise the mistake would show only when the first line is logged. */
function refuseLog(log: unknown): void {
  if (log === undefined || log === false) return
  const methods: Readonly<Record<string, unknown>> = Object(log)
  if (logLevels.every((level) => typeof methods[level] === 'function')) return
  const allowed = `a logger with ${logLevels.join(', ')}, or false`
  throw MillraceError.invalid([{ field: 'log', given: describeGiven(log), allowed }])
}

/** A backend that the caller passed in stays open. The caller closes it. */
async function backendOf(
  { backend, store, data, carrier, busyTimeout, encryptionKeys }: OpenOptions,
  ports: Ports,
  { onNotice, onAttemptLost }: StoreListeners,
): Promise<AppBackend> {
  if (backend !== undefined && store !== undefined) {
    const allowed = 'one of `store` and `backend`'
    throw MillraceError.invalid([{ field: 'store', given: 'both', allowed }])
  }
  if (backend !== undefined)
    return { backend, storeFile: null, closeBackend: async () => undefined }
  const opened = await openBackend({
    store: chosenStore({ store, data }),
    create: true,
    ports,
    encryptionKeys,
    ...(busyTimeout && { busyTimeoutMs: durationMs(busyTimeout, 'busyTimeout') }),
    onClockChange: (change) => onNotice({ kind: 'clock', ...change }),
    ...(onAttemptLost && { onAttemptLost }),
  })
  const storeFile = opened.directory?.file ?? null
  if (carrier === undefined) {
    return { backend: opened.backend, storeFile, closeBackend: () => opened.backend.close() }
  }
  const { openCarried } = await import('./open-carried.ts')
  const carried = await openCarried({
    store: opened.backend,
    carrier,
    ports,
    onNotice: (text, error) =>
      onNotice({ kind: 'carrier', text, ...(error !== undefined && { error }) }),
  })
  return { backend: carried, storeFile, closeBackend: () => carried.close() }
}

interface StoreListeners {
  readonly onNotice: (notice: Notice) => void
  readonly onAttemptLost: AttemptLostListener | undefined
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
  readonly traces: Traces | undefined
  readonly onNotice: (notice: Notice) => void
  readonly heldNames: readonly string[]
}

function handlesOf<Opened extends App>(setup: HandleSetup): Mill<Opened>['queues'] {
  const { resolved, backend, ports, traces, onNotice, heldNames } = setup
  const called = traces === undefined ? backend : tracedStore(backend, traces)
  const onRefused = (refused: RefusedDelivery): void =>
    onNotice({ kind: 'delivery_refused', ...refused })
  const handles = resolved.queues.map(({ key, name, declared }) => {
    const parts = { backend: called, name, declared, onRefused, heldNames, clock: ports.clock }
    const producer = createProducer(parts)
    const messages = {
      ...(traces === undefined ? producer : tracedProducer(producer, traces)),
      ...createConsumer(parts),
    }
    const target = resolved.planned.find((planned) => planned.queue === name)?.settings.deadLetter
    const handle = {
      name,
      ...(isJobsQueue(declared) ? {} : messages),
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
