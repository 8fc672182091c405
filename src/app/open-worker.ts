/** Connects a worker to an open app: its queues, its producers, its log, and the signals of the process. */
import type { Backend } from '../backends/backend.ts'
import type { App } from '../contracts/define-app.ts'
import type { ResolvedQueues } from '../contracts/resolve-queues.ts'
import { misplacement } from '../contracts/tier-declaration.ts'
import { durationMs } from '../core/durations.ts'
import { errorSummary } from '../core/error-summary.ts'
import { type Ports, systemPorts } from '../core/ports.ts'
import { onStopSignal } from '../core/stop-signals.ts'
import type { Collectors } from '../flows/collectors.ts'
import type { FlowEmits } from '../flows/emitted-flows.ts'
import type { Emitter } from '../jobs/emitter.ts'
import type { HandlerTally } from '../observability/handler-tally.ts'
import { silentLogger } from '../observability/logger.ts'
import type { Traces } from '../observability/traces.ts'
import { factFields, logEnqueued, logWith } from '../observability/transition-log.ts'
import type { HandlerBudgets } from '../operations/budgets.ts'
import type { AnySendOptions } from '../producer/send-options.ts'
import { buildSources } from '../worker/build-sources.ts'
import { limitHeapGrowth } from '../worker/heap-growth.ts'
import { createWorker, type DrivenWorker, type WorkerSetup } from '../worker/worker.ts'
import type { WorkerEvent } from '../worker/worker-event.ts'
import { type UntypedWorkerOptions, workerDefaults } from '../worker/worker-options.ts'
import { type EventReporting, harmless, reporterTo } from './report-events.ts'
import type { UnstartedWorkers } from './unstarted-workers.ts'

export interface OpenWorkerSetup extends EventReporting {
  readonly app: App
  readonly resolved: ResolvedQueues
  readonly backend: Backend
  readonly ports: Ports
  readonly traces: Traces | undefined
  /** Counts how handlers end, for the metrics. */
  readonly tally: HandlerTally
  readonly heldNames: readonly string[]
  readonly unstarted: UnstartedWorkers
  readonly budgets: HandlerBudgets
  readonly emitter: Emitter
  readonly flows: FlowEmits
  readonly collectors: Pick<Collectors<unknown>, 'prepare' | 'handlers'>
}

export function openWorker(setup: OpenWorkerSetup, options: UntypedWorkerOptions): DrivenWorker {
  const { app, resolved, backend, ports, log, heldNames } = setup
  const { concurrency, stopTimeout } = { ...workerDefaults, ...options }
  // Another clock means a test: the load does not last, and the process is shared.
  if (ports === systemPorts) limitHeapGrowth('worker', ports.timers)
  const triggers = setup.collectors.handlers
  const sources = buildSources({ resolved, options, concurrency, triggers })
  const stopTimeoutMs = durationMs(stopTimeout, 'stopTimeout')
  return createWorker({
    backend,
    ports,
    sources,
    concurrency,
    stopTimeoutMs,
    layers: options.use ?? [],
    heldNames,
    context: contextOf(setup),
    misplacement: (job) => misplacement(app, job),
    observe: observerOf(setup, options.onEvent),
    onEnqueued: onEnqueued(setup),
    traces: setup.traces,
    onFailure: (what, queue, error, retryInMs) =>
      harmless(() => {
        const fields = { queue, error: errorSummary(error), retry_in_ms: retryInMs }
        log.error(
          fields,
          what === 'claim' ? 'work could not be claimed' : 'work could not be settled',
        )
      }),
    // The guard thread reads the real clock, so it cannot work with another one.
    guarded: ports === systemPorts,
    onStarted: setup.unstarted.add(sources.map((source) => source.setup.key)),
    onSignal: onStopSignal,
  })
}

/** Logs the jobs that handlers enqueue like all other jobs. */
function onEnqueued({ resolved, log }: OpenWorkerSetup): WorkerSetup['onEnqueued'] {
  if (log === silentLogger) return undefined
  return (jobs, enqueued) =>
    harmless(() => {
      for (const [index, stored] of enqueued.entries()) {
        const emitted = jobs[index]
        const queue = resolved.queues.find(({ name }) => name === emitted?.queue)?.key ?? ''
        const { type, traceId } = emitted?.job ?? {}
        logEnqueued(log, { queue, type, traceId, ...stored })
      }
    })
}

/** What the contexts of all handlers share. */
export function contextOf(
  setup: Pick<OpenWorkerSetup, 'ports' | 'log' | 'emitter' | 'flows' | 'collectors' | 'budgets'>,
): WorkerSetup['context'] {
  const { ports, log, emitter, flows, collectors, budgets } = setup
  return {
    log: (facts) => (log === silentLogger ? log : logWith(log, factFields(facts))),
    batchLog: ({ queue, type }) =>
      log === silentLogger ? log : logWith(log, { queue, ...(type !== null && { type }) }),
    now: () => ports.clock.now(),
    // The types of the context guarantee that the options belong to the queue.
    prepareMessage: (key, message, options) =>
      emitter.message(key, message, options as AnySendOptions),
    prepareJob: (key, type, payload, options) => emitter.job(key, type, payload, options),
    prepareItem: (key, item, options) => collectors.prepare(key, item, options),
    flows,
    spend: async (lease, budget, amount) => {
      const { turnedOn } = await (lease === undefined
        ? budgets.spend(budget, amount)
        : budgets.spendOn(lease, budget, amount))
      if (turnedOn) log.warn({ budget }, 'budget spent, kill switch on')
    },
  }
}

/** Logs, prints and counts the events of attempts; undefined if nothing listens. */
export function observerOf(
  {
    backend,
    log,
    printsFailures,
    tally,
  }: Pick<OpenWorkerSetup, 'backend' | 'log' | 'printsFailures' | 'tally'>,
  onEvent: ((event: WorkerEvent) => void) | undefined,
): ((event: WorkerEvent) => void) | undefined {
  const report = reporterTo({ log, printsFailures })
  const isCounted = backend.metrics !== null
  if (report === undefined && !isCounted && onEvent === undefined) return undefined
  return (event) => {
    if (isCounted) tally.note(event)
    report?.(event)
    if (onEvent !== undefined) harmless(() => onEvent(event))
  }
}
