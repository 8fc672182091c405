/** The agents that work in the background of an open app, beside the sweeper; one line for each. */
import type { Backend } from '../backends/backend.ts'
import type { App } from '../contracts/define-app.ts'
import { janitorDefaults } from '../contracts/janitor-declaration.ts'
import { isJobsQueue } from '../contracts/jobs-declaration.ts'
import { scopedName, valueName } from '../contracts/resolve-names.ts'
import type { Topology } from '../contracts/resolve-topology.ts'
import { scopeText } from '../contracts/scope-text.ts'
import { durationMs } from '../core/durations.ts'
import { minuteMs } from '../core/minutes.ts'
import type { Ports } from '../core/ports.ts'
import { planSchedules } from '../flows/planned-schedules.ts'
import type { Agent, AgentFailure } from '../maintenance/agent.ts'
import type { AlarmWatch } from '../maintenance/alarm-watch.ts'
import { Janitor } from '../maintenance/janitor.ts'
import { Sampler } from '../maintenance/sampler.ts'
import { Scheduler } from '../maintenance/scheduler.ts'
import type { HandlerTally } from '../observability/handler-tally.ts'
import type { Logger } from '../observability/logger.ts'
import type { Notice } from './notice.ts'
import { openRelay } from './open-relay.ts'

export interface BackgroundSetup {
  readonly app: App
  readonly stage: string
  readonly topology: Topology
  readonly backend: Backend
  readonly ports: Ports
  readonly log: Logger
  /** Evaluates the alarms of the app, where the backend keeps them. */
  readonly alarmWatch: AlarmWatch | undefined
  /** What the handlers of this process come to. */
  readonly tally: HandlerTally
  /** Whether webhooks may be in networks of one's own. Default: as the environment says. */
  readonly allowPrivate: boolean | undefined
  /** Kill switches that the environment has on. */
  readonly heldNames: readonly string[]
  /** Messages that the sweeper has seen expire since it was asked last. */
  readonly takeExpired: () => number
  /** Told when the work of an agent failed and is tried again. */
  readonly onFailure: (agent: string, error: unknown, retryInMs: number | null) => void
  /** Told of what agents have found. */
  readonly onNotice: (notice: Notice) => void
}

export interface Background {
  stop(): Promise<void>
}

export function startBackground(setup: BackgroundSetup): Background {
  const agents = agentsOf(setup)
  for (const agent of agents) agent.start()
  return {
    async stop() {
      await Promise.all(agents.map((agent) => agent.stop()))
    },
  }
}

function agentsOf(setup: BackgroundSetup): readonly Agent[] {
  const agents = [
    setup.alarmWatch,
    samplerOf(setup),
    schedulerOf(setup),
    janitorOf(setup),
    openRelay(setup),
  ]
  return agents.filter((agent) => agent !== undefined)
}

function samplerOf(setup: BackgroundSetup): Agent | undefined {
  const { backend, ports, tally } = setup
  if (backend.metrics === null) return undefined
  const onFailure = failureOf(setup, 'sampler')
  return new Sampler({ metrics: backend.metrics, tally, timers: ports.timers, onFailure })
}

function schedulerOf(setup: BackgroundSetup): Agent | undefined {
  const { app, stage, topology, backend, ports, log, onNotice } = setup
  const { queues } = topology
  const schedules = planSchedules({ app, stage, queues, backend, ids: ports.ids })
  if (backend.schedules === null) return undefined
  return new Scheduler({
    store: backend.schedules,
    scope: scopeText({ app: app.name, stage }),
    schedules,
    // Without schedules there is only to forget what an earlier version had.
    ...(schedules.length === 0 && { intervalMs: minuteMs }),
    timers: ports.timers,
    log,
    onTickFailure: (failure) => onNotice({ kind: 'tick_failed', ...failure }),
    onFailure: failureOf(setup, 'scheduler'),
  })
}

function janitorOf(setup: BackgroundSetup): Agent {
  const { app, stage, topology, backend, ports, heldNames, takeExpired, onNotice } = setup
  const scope = { app: app.name, stage }
  const { pendingFor, processingFor } = { ...janitorDefaults, ...app.janitor }
  const namesOf = (parts: object = {}): readonly string[] =>
    Object.keys(parts).map((key) => scopedName(key, scope))
  return new Janitor({
    backend,
    scope: scopeText(scope),
    queues: topology.queues.flatMap(({ name, declared }) => (isJobsQueue(declared) ? name : [])),
    flows: [...namesOf(app.flows), ...namesOf(app.chains)],
    collectors: namesOf(app.collectors),
    pendingForMs: durationMs(pendingFor),
    processingForMs: durationMs(processingFor),
    heldNames,
    takeExpired,
    metricName: (name) => valueName(name, scope),
    timers: ports.timers,
    onFinding: (finding) => onNotice({ kind: 'janitor', ...finding }),
    onFailure: failureOf(setup, 'janitor'),
  })
}

function failureOf({ onFailure }: BackgroundSetup, agent: string): (failure: AgentFailure) => void {
  return ({ error, retryInMs }) => onFailure(agent, error, retryInMs)
}
