/**
 * Runs unchanged Lambda functions for Node, invoked by queues as on AWS: batches, batching windows,
 * concurrency, timeouts, partial failures, filters. Each running invocation has its own thread. Load a set of
 * functions, start it, and replace it while it runs.
 */
import type { Backend } from '../../backends/backend.ts'
import { errorSummary } from '../../core/error-summary.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import type { Ports } from '../../core/ports.ts'
import { type Logger, silentLogger } from '../../observability/logger.ts'
import type { QueuePlace } from '../../sqs/queue-address.ts'
import { Settler } from '../settler.ts'
import { checkLambdaSet } from './check-lambda-set.ts'
import { type BatchReport, EventSourcePoller, type PollerWork } from './event-source-poller.ts'
import { FunctionHost, type Invocation } from './function-host.ts'
import { type LambdaLogLine, toLogger } from './invocation-log.ts'
import { type InvocationReport, invocationReport, logInvocation } from './invocation-report.ts'
import {
  eventSourceKey,
  invokedFunctions,
  isSameEventSource,
  isSameFunction,
  type LambdaEventSource,
  type LambdaFunction,
  type LambdaSet,
} from './lambda-set.ts'
import { Limit, Slots } from './slots.ts'

export interface LambdaRuntimeOptions {
  readonly backend: Backend
  readonly ports: Ports
  readonly region: string
  /** Twelve digits. */
  readonly account: string
  /** The URL at which functions reach the SQS endpoint: `http://127.0.0.1:4566`. */
  readonly endpoint?: string
  /** The folder or the URL of the store, for functions that use it. */
  readonly store?: string
  /** The stage of the apps that functions use. */
  readonly stage?: string
  /** Gets the log lines of the runtime. Default: none. */
  readonly log?: Logger
  /** Called with each line of a function's log, as CloudWatch would have it. Default: lines go to `log`. */
  readonly onLogLine?: (line: LambdaLogLine) => void
  /** Called when an invocation has ended and its messages are settled. */
  readonly onInvocation?: (report: InvocationReport) => void
  /** Whether each invocation is also written to `log`. Default: true. */
  readonly logsInvocations?: boolean
  /** The environment of this process. Functions get a small part of it. Default: none. */
  readonly hostEnvironment?: Readonly<Record<string, string | undefined>>
  /** Names of kill switches that are on in the environment of this process. */
  readonly heldNames?: readonly string[]
  /** Concurrent invocations of an event source without a maximum concurrency. Default: 5. */
  readonly sourceConcurrency?: number
  /** Concurrent invocations of all functions together. Default: 50. */
  readonly accountConcurrency?: number
  /** How long an idle environment is kept. Default: ten minutes. */
  readonly idleMs?: number
}

/** The counts of an event source since it was started. */
export interface EventSourceFigures {
  readonly queue: string
  readonly function: string
  readonly running: number
  readonly invocations: number
  readonly failures: number
  /** Messages that no filter matched. They were deleted. */
  readonly filteredOut: number
}

/** Threads are not free, so a laptop starts with fewer than AWS would. */
const defaults = { sourceConcurrency: 5, accountConcurrency: 50, idleMs: 600_000 }

interface RunningSource {
  readonly source: LambdaEventSource
  readonly poller: EventSourcePoller
  readonly figures: { invocations: number; failures: number; filteredOut: number }
}

interface RunningFunction {
  readonly host: FunctionHost
  readonly limit: Limit
}

export class LambdaRuntime {
  readonly #options: LambdaRuntimeOptions
  readonly #log: Logger
  readonly #slots = new Slots()
  readonly #account: Limit
  readonly #settler: Settler
  readonly #functions = new Map<string, RunningFunction>()
  readonly #sources = new Map<string, RunningSource>()
  /** Parts of a replaced set that are still shutting down. */
  readonly #closing = new Set<Promise<void>>()
  #set: LambdaSet = { functions: [], eventSources: [] }
  #changes: Promise<void> = Promise.resolve()
  #isStarted = false
  #stopped: Promise<void> | undefined

  constructor(options: LambdaRuntimeOptions) {
    this.#options = options
    this.#log = options.log ?? silentLogger
    this.#account = new Limit(options.accountConcurrency ?? defaults.accountConcurrency)
    this.#settler = new Settler({
      backend: options.backend,
      ports: options.ports,
      onRetry: (queue, error, retryInMs) =>
        this.#warn('settle', { queue, retry_in_ms: retryInMs }, error),
    })
  }

  /** The event sources that are polled. */
  get sources(): readonly EventSourceFigures[] {
    return [...this.#sources.values()].map(({ source, poller, figures }) => ({
      queue: source.queue,
      function: source.function,
      running: poller.running,
      ...figures,
    }))
  }

  /** Sets the functions to run. Throws one error with everything that AWS would refuse. */
  load(set: LambdaSet): void {
    if (this.#isStarted)
      throw misused('The runtime has already started. Use reload() to replace its set.')
    checkLambdaSet(set)
    this.#set = set
  }

  /** Starts polling. Resolves when every event source is polled. Their queues must exist. */
  async start(): Promise<void> {
    if (this.#stopped !== undefined) throw misused('The runtime was stopped. Create another one.')
    this.#isStarted = true
    await this.#apply(this.#set)
  }

  /** Replaces the set. Unchanged parts continue; removed or changed parts are stopped gracefully. */
  async reload(set: LambdaSet): Promise<void> {
    checkLambdaSet(set)
    this.#set = set
    if (this.#isStarted && this.#stopped === undefined) await this.#apply(set)
  }

  /**
   * Invokes a function with any event, as soon as its concurrency allows. Resolves with undefined if the
   * signal is aborted before, or if the function does not exist.
   */
  async invoke(name: string, event: unknown, signal: AbortSignal): Promise<Invocation | undefined> {
    const running = this.#functions.get(name)
    if (running === undefined || this.#stopped !== undefined) return undefined
    const slot = await this.#slots.acquire([running.limit, this.#account], signal)
    if (slot === undefined) return undefined
    return running.host.invoke(event).finally(slot)
  }

  /**
   * Stops collecting batches. Resolves when running invocations have ended. Repeated calls share one promise.
   */
  stop(): Promise<void> {
    this.#stopped ??= this.#end()
    return this.#stopped
  }

  async #end(): Promise<void> {
    await this.#changes.catch(() => undefined)
    await Promise.all([...this.#sources.values()].map(({ poller }) => poller.stop()))
    await Promise.all(this.#closing)
    await Promise.all([...this.#functions.values()].map(({ host }) => host.close()))
    this.#sources.clear()
    this.#functions.clear()
  }

  /** Applies one change after the other. */
  #apply(set: LambdaSet): Promise<void> {
    this.#changes = this.#changes.catch(() => undefined).then(() => this.#change(set))
    return this.#changes
  }

  async #change(set: LambdaSet): Promise<void> {
    const { eventSources } = set
    const enabled = eventSources.filter((source) => source.enabled)
    const wanted = new Map(enabled.map((source) => [eventSourceKey(source), source]))
    const opening = await Promise.all(
      enabled.filter((source) => !this.#isRunning(source)).map((source) => this.#read(source)),
    )
    for (const [key, { source, poller }] of this.#sources) {
      const next = wanted.get(key)
      if (next !== undefined && isSameEventSource(source, next)) continue
      this.#sources.delete(key)
      this.#leave(poller.stop())
    }
    this.#host(invokedFunctions(set))
    for (const { source, visibilityMs } of opening) {
      this.#sources.set(eventSourceKey(source), this.#open(source, visibilityMs))
    }
  }

  #isRunning(source: LambdaEventSource): boolean {
    const running = this.#sources.get(eventSourceKey(source))
    return running !== undefined && isSameEventSource(running.source, source)
  }

  /** Finds missing queues before anything is changed. */
  async #read(
    source: LambdaEventSource,
  ): Promise<{ readonly source: LambdaEventSource; readonly visibilityMs: number }> {
    const { settings } = await this.#options.backend.readQueue({ queue: source.queue })
    return { source, visibilityMs: settings.visibilityMs }
  }

  #leave(ending: Promise<void>): void {
    const leaving = ending.finally(() => this.#closing.delete(leaving))
    this.#closing.add(leaving)
  }

  #host(functions: readonly LambdaFunction[]): void {
    const names = new Set(functions.map(({ name }) => name))
    for (const [name, { host }] of this.#functions) {
      if (names.has(name)) continue
      this.#functions.delete(name)
      this.#leave(Promise.all(this.#closing).then(() => host.close()))
    }
    for (const definition of functions) {
      const running = this.#functions.get(definition.name) ?? this.#openFunction(definition)
      running.limit.setMax(definition.reservedConcurrency ?? Number.POSITIVE_INFINITY)
      if (!isSameFunction(running.host.definition, definition)) running.host.redefine(definition)
    }
    this.#slots.serve()
  }

  #openFunction(definition: LambdaFunction): RunningFunction {
    const { ports, region, account, endpoint, store, stage, hostEnvironment } = this.#options
    const { idleMs, onLogLine } = this.#options
    const host = new FunctionHost(definition, {
      ports,
      place: { region, account, endpoint, store, stage, host: hostEnvironment ?? {} },
      idleMs: idleMs ?? defaults.idleMs,
      onLogLine: onLogLine ?? toLogger(this.#log),
      onReload: (name) => this.#log.info({ function: name }, 'function code changed'),
    })
    const running = { host, limit: new Limit(Number.POSITIVE_INFINITY) }
    this.#functions.set(definition.name, running)
    return running
  }

  #open(source: LambdaEventSource, visibilityMs: number): RunningSource {
    const { backend, ports, heldNames = [], sourceConcurrency } = this.#options
    const { queue } = source
    const { host, limit } = this.#functionOf(source)
    this.#warnOfShortLease(host.definition, source, visibilityMs)
    const most = source.maximumConcurrency ?? sourceConcurrency ?? defaults.sourceConcurrency
    const figures = { invocations: 0, failures: 0, filteredOut: 0 }
    const poller = new EventSourcePoller({
      backend,
      ports,
      settler: this.#settler,
      source,
      host,
      slots: this.#slots,
      limits: [new Limit(most), limit, this.#account],
      home: this.#home,
      heldNames,
      onInvoked: (report) => {
        figures.invocations += 1
        if (report.invocation.status !== 'succeeded') figures.failures += 1
        this.#report(source, report)
      },
      onFiltered: (count) => {
        figures.filteredOut += count
        this.#log.debug({ queue, function: source.function, count }, 'messages filtered out')
      },
      onFailure: (what, error, retryInMs) =>
        this.#warn(what, { queue, retry_in_ms: retryInMs }, error),
    })
    poller.start()
    return { source, poller, figures }
  }

  get #home(): QueuePlace {
    return { region: this.#options.region, account: this.#options.account }
  }

  #functionOf(source: LambdaEventSource): RunningFunction {
    const running = this.#functions.get(source.function)
    // Unreachable: `checkLambdaSet` refuses an event source without its function.
    if (running === undefined) throw misused(`There is no function ${source.function}.`)
    return running
  }

  #report(source: LambdaEventSource, report: BatchReport): void {
    const told = invocationReport(source, report)
    const { logsInvocations = true, onInvocation } = this.#options
    if (logsInvocations) logInvocation(this.#log, told)
    onInvocation?.(told)
  }

  #warnOfShortLease(
    { name, timeoutMs }: LambdaFunction,
    { queue, batchingWindowMs }: LambdaEventSource,
    visibilityMs: number,
  ): void {
    if (visibilityMs >= timeoutMs + batchingWindowMs) return
    this.#log.warn(
      {
        queue,
        function: name,
        visibility_ms: visibilityMs,
        timeout_ms: timeoutMs,
        window_ms: batchingWindowMs,
      },
      'messages may be delivered again while they are processed: the visibility timeout is too short',
    )
  }

  #warn(what: PollerWork, facts: Readonly<Record<string, string | number>>, error: unknown): void {
    this.#log.warn({ ...facts, error: errorSummary(error) }, `${what} failed`)
  }
}

function misused(message: string): MillraceError {
  return new MillraceError('invalid_argument', { message })
}
