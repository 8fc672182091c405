/** Starts the services that maintain a store, and the additional services of an app. */
import type { Backend } from '../backends/backend.ts'
import type { App } from '../contracts/define-app.ts'
import { janitorDefaults } from '../contracts/janitor-declaration.ts'
import { isJobsQueue } from '../contracts/jobs-declaration.ts'
import { scopedName, valueName } from '../contracts/resolve-names.ts'
import type { ResolvedQueues } from '../contracts/resolve-queues.ts'
import { scopeText } from '../contracts/scope-text.ts'
import { durationMs } from '../core/durations.ts'
import { minuteMs } from '../core/minutes.ts'
import type { Ports } from '../core/ports.ts'
import type { SchedulePlan } from '../flows/planned-schedules.ts'
import type { AlarmWatch } from '../maintenance/alarms/alarm-watch.ts'
import { Janitor } from '../maintenance/janitor.ts'
import { Sampler } from '../maintenance/sampler.ts'
import { Scheduler, type SchedulerOptions } from '../maintenance/scheduler.ts'
import type { Service } from '../maintenance/service.ts'
import { Sweeper, type SweeperOptions } from '../maintenance/sweeper.ts'
import type { HandlerTally } from '../observability/handler-tally.ts'
import type { Logger } from '../observability/logger.ts'
import type { Traces } from '../observability/traces.ts'
import { serviceFailure } from './notice.ts'
import { openRelay, type RelaySetup } from './open-relay.ts'

export interface StoreMaintenanceSetup extends RelaySetup {
  readonly backend: Backend
  readonly ports: Ports
  /** Counts the handlers of this process, if it has any. */
  readonly tally?: HandlerTally
}

export interface AppMaintenanceSetup extends StoreMaintenanceSetup {
  readonly app: App
  readonly stage: string
  readonly resolved: ResolvedQueues
  readonly schedulePlan: SchedulePlan
  readonly log: Logger
  readonly traces: Traces | undefined
  /** Evaluates the alarms of the app, if the backend supports alarms. */
  readonly alarmWatch: AlarmWatch | undefined
  /** Kill switches of the environment. */
  readonly heldNames: readonly string[]
}

export interface Maintenance {
  /** Lets all services look for work now. */
  wake(): void
  /** Resolves when no service works. */
  idle(): Promise<void>
  close(): Promise<void>
}

/** For a store that is served without an app. */
export function startStoreMaintenance(setup: StoreMaintenanceSetup): Maintenance {
  return start([sweeperOf(setup), samplerOf(setup), openRelay(setup)])
}

/** For an app and its store. */
export function startAppMaintenance(setup: AppMaintenanceSetup): Maintenance {
  const sweeper = sweeperOf(setup)
  return start([
    sweeper,
    setup.alarmWatch,
    samplerOf(setup),
    schedulerOf(setup),
    janitorOf(setup, sweeper),
    openRelay(setup),
  ])
}

export interface TestMaintenanceOptions extends Pick<Required<SweeperOptions>, 'nextChangeInMs'> {
  /** Samples metrics, evaluates alarms and looks for stuck work. */
  readonly monitoring: boolean
}

/**
 * What falls due is known, and services pause no longer than that. A tenth is for the rest, such as a wall
 * clock that was set: ten years then take about a hundred pauses.
 */
const idleGrowth = 0.1

/**
 * For an app on a virtual clock that nothing else uses: services that only look for the changes of other
 * processes would make virtual time slow. Nothing leaves the process.
 */
export function startTestMaintenance(
  setup: AppMaintenanceSetup,
  { monitoring, nextChangeInMs }: TestMaintenanceOptions,
): Maintenance {
  const sweeper = sweeperOf(setup, { idleMs: 60 * minuteMs, idleGrowth, nextChangeInMs })
  const relay = { ...setup, webhook: async () => undefined }
  const monitors = [setup.alarmWatch, samplerOf(setup), janitorOf(setup, sweeper), openRelay(relay)]
  const scheduler = schedulerOf(setup, { intervalMs: minuteMs, idleGrowth })
  return start([sweeper, scheduler, ...(monitoring ? monitors : [])])
}

function start(services: readonly (Service | undefined)[]): Maintenance {
  for (const service of services) service?.start()
  return {
    wake() {
      for (const service of services) service?.wake()
    },
    async idle() {
      await Promise.all(services.map((service) => service?.idle()))
    },
    async close() {
      await Promise.all(services.map((service) => service?.stop()))
    },
  }
}

function sweeperOf(
  { backend, ports, onNotice }: StoreMaintenanceSetup,
  pauses: Pick<SweeperOptions, 'idleMs' | 'idleGrowth' | 'nextChangeInMs'> = {},
): Sweeper {
  return new Sweeper({
    ...pauses,
    backend,
    timers: ports.timers,
    onFailure: (failure) => onNotice({ kind: 'sweep_failed', ...failure }),
  })
}

function samplerOf(setup: StoreMaintenanceSetup): Service | undefined {
  const { backend, ports, tally } = setup
  if (backend.metrics === null) return undefined
  return new Sampler({
    metrics: backend.metrics,
    timers: ports.timers,
    ...(tally !== undefined && { tally }),
    onFailure: serviceFailure('sampler', setup),
  })
}

function schedulerOf(
  setup: AppMaintenanceSetup,
  pauses: Pick<SchedulerOptions, 'intervalMs' | 'idleGrowth'> = {},
): Service | undefined {
  const { backend, schedulePlan: plan, ports, log, onNotice } = setup
  if (backend.schedules === null) return undefined
  return new Scheduler({
    store: backend.schedules,
    plan,
    ...pauses,
    timers: ports.timers,
    log,
    onTickFailure: (failure) => onNotice({ kind: 'tick_failed', ...failure }),
    onFailure: serviceFailure('scheduler', setup),
  })
}

function janitorOf(setup: AppMaintenanceSetup, sweeper: Sweeper): Service {
  const { app, stage, resolved, backend, ports, heldNames, onNotice } = setup
  const scope = { app: app.name, stage }
  const { pendingFor, processingFor } = { ...janitorDefaults, ...app.janitor }
  const namesOf = (parts: object = {}): readonly string[] =>
    Object.keys(parts).map((key) => scopedName(key, scope))
  return new Janitor({
    backend,
    scope: scopeText(scope),
    queues: resolved.queues.flatMap(({ name, declared }) => (isJobsQueue(declared) ? name : [])),
    flows: [...namesOf(app.flows), ...namesOf(app.chains)],
    collectors: namesOf(app.collectors),
    pendingForMs: durationMs(pendingFor),
    processingForMs: durationMs(processingFor),
    heldNames,
    takeExpired: () => sweeper.takeExpired(),
    metricName: (name) => valueName(name, scope),
    timers: ports.timers,
    onFinding: (finding) => onNotice({ kind: 'janitor', ...finding }),
    onFailure: serviceFailure('janitor', setup),
  })
}
