/** Joins a worker with an open app: its queues, its producers, its log, and the signals of the process. */
import type { Backend } from '../backends/backend.ts'
import type { App } from '../contracts/define-app.ts'
import { isJobsQueue } from '../contracts/jobs-declaration.ts'
import type { NamedQueue } from '../contracts/resolve-names.ts'
import type { Topology } from '../contracts/resolve-topology.ts'
import { misplacement, tierFor } from '../contracts/tier-declaration.ts'
import { durationMs } from '../core/durations.ts'
import { errorSummary } from '../core/error-summary.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { type Ports, systemPorts } from '../core/ports.ts'
import { type Logger, silentLogger } from '../observability/logger.ts'
import { factFields, logEnqueued, logTransition, logWith } from '../observability/transition-log.ts'
import { createBudgetDesk } from '../operations/switches.ts'
import { createJobProducer } from '../producer/job-producer.ts'
import { createProducer } from '../producer/queue-producer.ts'
import type { AnySendOptions } from '../producer/send-options.ts'
import { buildSources } from '../worker/build-sources.ts'
import { createWorker, type Worker, type WorkerSetup } from '../worker/worker.ts'
import type { WorkerEvent } from '../worker/worker-event.ts'
import { type UntypedWorkerOptions, workerDefaults } from '../worker/worker-options.ts'

export interface OpenWorkerSetup {
  readonly app: App
  readonly topology: Topology
  readonly backend: Backend
  readonly ports: Ports
  readonly log: Logger
  readonly heldNames: readonly string[]
}

export function openWorker(setup: OpenWorkerSetup, options: UntypedWorkerOptions): Worker {
  const { app, topology, backend, ports, log, heldNames } = setup
  const { concurrency, stopTimeout } = { ...workerDefaults, ...options }
  return createWorker({
    backend,
    ports,
    sources: buildSources({ topology, options, concurrency }),
    concurrency,
    stopTimeoutMs: durationMs(stopTimeout, 'stopTimeout'),
    layers: options.use ?? [],
    heldNames,
    context: contextOf(setup),
    misplacement: (job) => misplacement(app, job),
    observe: observerOf(log, options.onEvent),
    onEnqueued: onEnqueued(setup),
    onFailure: (what, queue, error, retryInMs) =>
      harmless(() => {
        const fields = { queue, error: errorSummary(error), retry_in_ms: retryInMs }
        log.error(
          fields,
          what === 'claim' ? 'work could not be claimed' : 'work could not be settled',
        )
      }),
    // A thread has a clock of its own, so on any other clock there is no place for it.
    guarded: ports === systemPorts,
    onSignal: onStopSignal,
  })
}

/** Jobs that handlers enqueue are logged like those of anybody else. */
function onEnqueued({ topology, log }: OpenWorkerSetup): WorkerSetup['onEnqueued'] {
  if (log === silentLogger) return undefined
  return (jobs, enqueued) =>
    harmless(() => {
      for (const [index, answer] of enqueued.entries()) {
        const emitted = jobs[index]
        const queue = topology.queues.find(({ name }) => name === emitted?.queue)?.key ?? ''
        const { type, traceId } = emitted?.job ?? {}
        logEnqueued(log, { queue, type, traceId, ...answer })
      }
    })
}

function contextOf({ app, topology, backend, log }: OpenWorkerSetup): WorkerSetup['context'] {
  const named = (key: string): NamedQueue => {
    const queue = topology.queues.find((one) => one.key === key)
    if (queue === undefined) {
      const shown = String(key).slice(0, 40)
      const message = `The app has no queue '${shown}'.`
      throw new MillraceError('queue_not_found', { message })
    }
    return queue
  }
  const budgets = createBudgetDesk(backend, app.budgets)
  return {
    log: (facts) => logWith(log, factFields(facts)),
    draftMessage: async (key, message, options) => {
      const { name, declared } = named(key)
      // The types of the context see to it that the options belong to the queue.
      const draft = createProducer({ backend, name, declared }).draft(
        message,
        options as AnySendOptions,
      )
      return draft.toEmit()
    },
    draftJob: async (key, type, payload, options) => {
      const { name, declared } = named(key)
      if (!isJobsQueue(declared) || backend.jobs === null) {
        const message = `The queue '${key}' is not for jobs.`
        throw new MillraceError('invalid_argument', { message })
      }
      const producer = createJobProducer({ store: backend.jobs, name, declared })
      const tier = tierFor(app, { queue: key, type, tier: options?.tier })
      const tiered = tier === undefined ? options : { ...options, tier }
      return { queue: name, job: await producer.draft(type, payload, tiered) }
    },
    spend: async (budget, amount) => {
      const { tripped } = await budgets.spend(budget, amount)
      if (tripped) log.warn({ budget }, 'budget spent, kill switch on')
    },
  }
}

function observerOf(
  log: Logger,
  onEvent: ((event: WorkerEvent) => void) | undefined,
): ((event: WorkerEvent) => void) | undefined {
  if (log === silentLogger && onEvent === undefined) return undefined
  return (event) => {
    harmless(() => logTransition(log, event))
    harmless(() => onEvent?.(event))
  }
}

/** Whoever only looks on must not keep work from being settled, or its slot from being freed. */
function harmless(run: () => void): void {
  try {
    run()
  } catch (error) {
    process.emitWarning(error instanceof Error ? error : String(error))
  }
}

function onStopSignal(run: () => void): () => void {
  const signals = ['SIGTERM', 'SIGINT'] as const
  for (const signal of signals) process.once(signal, run)
  return () => {
    for (const signal of signals) process.off(signal, run)
  }
}
