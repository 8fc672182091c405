/**
 * Opens the store of a function: the parts of a worker that run a delivery, without the loop that claims and
 * without maintenance. Like a function on AWS, it creates and changes no queue.
 */
import { givenStore } from '../app/chosen-store.ts'
import { openBackend } from '../app/open-backend.ts'
import { contextOf } from '../app/open-worker.ts'
import type { Backend } from '../backends/backend.ts'
import { isJobsQueue } from '../contracts/jobs-declaration.ts'
import { defaultStage } from '../contracts/resolve-names.ts'
import { resolveQueues } from '../contracts/resolve-queues.ts'
import { scopeText } from '../contracts/scope-text.ts'
import { misplacement } from '../contracts/tier-declaration.ts'
import { durationMs } from '../core/durations.ts'
import { limits } from '../core/limits.ts'
import { isRefused, MillraceError } from '../core/millrace-error.ts'
import { type OptionNames, refuseUnknownOptions } from '../core/options.ts'
import { type Ports, systemPorts } from '../core/ports.ts'
import { createCollectors, refuseCollectors } from '../flows/collectors.ts'
import { createFlows, refuseFlows } from '../flows/flows.ts'
import { createEmitter } from '../jobs/emitter.ts'
import { createBudgets } from '../operations/budgets.ts'
import { buildSources } from '../worker/build-sources.ts'
import type { AttemptContext } from '../worker/handler-context.ts'
import { JobRunner } from '../worker/job-runner.ts'
import { LeaseKeeper } from '../worker/lease-keeper.ts'
import { Settler } from '../worker/settler.ts'
import type { Source } from '../worker/source.ts'
import type { WorkerEvent } from '../worker/worker-event.ts'
import type { UntypedHandler } from '../worker/worker-options.ts'
import { consoleLogger } from './console-logger.ts'
import type { FunctionStore, HandlersByType, UntypedFunctionHandler } from './function-types.ts'
import type { FunctionQueue } from './record-runner.ts'
import type { LambdaContext, SqsBatchRecord } from './sqs-batch.ts'

export interface OpenStore {
  readonly queue: FunctionQueue
  readonly backend: Backend
  readonly ports: Ports
  readonly source: Source
  readonly runner: JobRunner
  /** The latest event of each delivery, by the id of its message. */
  readonly events: Map<string, WorkerEvent>
  /** The records whose handlers run, by receipt. */
  readonly running: Map<string, RunningRecord>
}

export interface RunningRecord {
  readonly record: SqsBatchRecord
  readonly lambda: LambdaContext
  /** What its handler was called with, and what it threw. */
  message?: unknown
  error?: unknown
}

const storeOptions: OptionNames<FunctionStore> = {
  store: true,
  data: true,
  stage: true,
  backend: true,
  log: true,
  ports: true,
  busyTimeout: true,
}

export async function openStore(
  queue: FunctionQueue,
  handlers: HandlersByType,
  options: FunctionStore,
): Promise<OpenStore> {
  refuseUnknownOptions(options, storeOptions, 'store.')
  const { app, key, declared } = queue
  const { ports = systemPorts, log = consoleLogger } = options
  const stage = options.stage ?? (process.env['MILLRACE_STAGE'] || app.stage || defaultStage)
  const resolved = resolveQueues(app, stage)
  const backend = await backendOf(options, ports)
  refuseFlows(app, backend)
  refuseCollectors(app, backend)
  const { queues } = resolved
  const emitter = createEmitter({ app, backend, queues, ports })
  const scope = { app: app.name, stage }
  const parts = { app, scope, queues, backend, emitter }
  const flows = createFlows(parts)
  const collecting = createCollectors(parts)
  const running: OpenStore['running'] = new Map()
  const events: OpenStore['events'] = new Map()
  const handle = Object.fromEntries(
    [...handlers].map(([name, handler]) => [
      isJobsQueue(declared) ? name : key,
      withRecord(handler, running),
    ]),
  )
  const [source] = buildSources({
    resolved,
    options: { poll: [key], handle },
    concurrency: limits.concurrency.max,
    triggers: collecting.handlers,
  })
  if (source === undefined) throw new MillraceError('queue_not_found')
  const { name } = source.setup
  await backend.readQueue({ queue: name }).catch((error: unknown) => {
    throw isRefused(error, 'queue_not_found') ? missingQueue(name, stage) : error
  })
  const runner = new JobRunner({
    ports,
    backend,
    keeper: new LeaseKeeper({ backend, ports, guard: undefined }),
    settler: new Settler({ backend, ports, onRetry: () => undefined }),
    layers: [],
    context: contextOf({
      ...{ ports, log, emitter },
      budgets: createBudgets({ backend, app: { scope: scopeText(scope), budgets: app.budgets } }),
      flows: flows.emits,
      collectors: collecting,
    }),
    misplacement: (job) => misplacement(app, job),
    observe: (event) => void events.set(event.id, event),
    onEnqueued: undefined,
    traces: undefined,
  })
  return { queue, backend, ports, source, runner, events, running }
}

async function backendOf(
  { backend, busyTimeout, ...choice }: FunctionStore,
  ports: Ports,
): Promise<Backend> {
  if (backend !== undefined) return backend
  const store = givenStore(choice, process.env)
  if (store === undefined) {
    throw new MillraceError('unsupported', {
      message:
        'The function has no store: neither MILLRACE_STORE nor MILLRACE_DATA is set. `millrace dev` sets ' +
        'one of them. Elsewhere, pass store: { store } with a URL, or a folder that this function can reach.',
    })
  }
  const timeout = busyTimeout && { busyTimeoutMs: durationMs(busyTimeout, 'store.busyTimeout') }
  return (await openBackend({ store, ports, ...timeout })).backend
}

function missingQueue(name: string, stage: string): MillraceError {
  return new MillraceError('queue_not_found', {
    message:
      `The store has no queue '${name}', the name of the queue at the stage '${stage}'. Set ` +
      'MILLRACE_STAGE, or pass store: { stage }.',
  })
}

/** Adds the record to the context that the worker's parts have made, and remembers what the handler throws. */
function withRecord(
  handler: UntypedFunctionHandler,
  running: OpenStore['running'],
): UntypedHandler {
  return async (message, context) => {
    // The runner below makes all contexts.
    const { lease } = context as AttemptContext
    const own = running.get(lease.receipt)
    // Unreachable: a record is in the map for as long as it runs.
    if (own === undefined) throw new MillraceError('store_failed')
    own.message = message
    const { record, lambda } = own
    try {
      return await handler(message, Object.assign(context, { record, lambda }))
    } catch (error) {
      own.error = error
      throw error
    }
  }
}
