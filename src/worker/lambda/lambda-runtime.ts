/**
 * Runs unchanged Lambda functions for Node, fed from queues as AWS feeds them: batches, batching
 * windows, concurrency, timeouts, partial failures, filters. Each running invocation has a thread of
 * its own. A set of functions is loaded, started, and may be replaced while it runs.
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
import { FunctionHost } from './function-host.ts'
import { type LambdaLogLine, toLogger } from './invocation-log.ts'
import { type InvocationReport, invocationReport, logInvocation } from './invocation-report.ts'
import {
  eventSourceKey,
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
  /** Where functions reach the SQS endpoint: `http://127.0.0.1:4566`. */
  readonly endpoint?: string
  /** Told of what the runtime does. Default: nobody. */
  readonly log?: Logger
  /** The lines of a function's log, as CloudWatch would have them. Default: they go to `log`. */
  readonly onLogLine?: (line: LambdaLogLine) => void
  /** Told when an invocation has ended and its messages are settled. */
  readonly onInvocation?: (report: InvocationReport) => void
  /** Whether each invocation is also written to `log`. Default: true. */
  readonly logsInvocations?: boolean
  /** The environment of this process, of which functions get a small part. Default: none of it. */
  readonly hostEnvironment?: Readonly<Record<string, string | undefined>>
  /** Names of kill switches that the environment of this process has on. */
  readonly heldNames?: readonly string[]
  /** Invocations at once of an event source that does not say. Default: 5. */
  readonly sourceConcurrency?: number
  /** Invocations at once of all functions together. Default: 50. */
  readonly accountConcurrency?: number
  /** How long an environment is kept that has nothing to do. Default: ten minutes. */
  readonly idleMs?: number
}

/** What an event source has done since it was started. */
export interface EventSourceFigures {
  readonly queue: string
  readonly function: string
  readonly running: number
  readonly invocations: number
  readonly failures: number
  /** Messages that no filter let through, and that were therefore deleted. */
  readonly filteredOut: number
}

/** Threads are cheap but not free, so a laptop starts smaller than AWS would. */
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
  /** What was replaced and still comes to its end. */
  readonly #leaving = new Set<Promise<void>>()
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
      onTrouble: (queue, error, retryInMs) =>
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

  /** Says what to run. Refuses, with all reasons in one error, what AWS would refuse. */
  load(set: LambdaSet): void {
    if (this.#isStarted) throw misused('The runtime has started; use reload() to replace its set.')
    checkLambdaSet(set)
    this.#set = set
  }

  /** Begins to poll; answers when every event source does. Its queue must exist. */
  async start(): Promise<void> {
    if (this.#stopped !== undefined) throw misused('The runtime was stopped; make another one.')
    this.#isStarted = true
    await this.#apply(this.#set)
  }

  /** Replaces the set: what is the same goes on, what is gone or changed ends in good order. */
  async reload(set: LambdaSet): Promise<void> {
    checkLambdaSet(set)
    this.#set = set
    if (this.#isStarted && this.#stopped === undefined) await this.#apply(set)
  }

  /** Takes no more batches and answers when running invocations have ended. Calls share one promise. */
  stop(): Promise<void> {
    this.#stopped ??= this.#end()
    return this.#stopped
  }

  async #end(): Promise<void> {
    await this.#changes.catch(() => undefined)
    await Promise.all([...this.#sources.values()].map(({ poller }) => poller.stop()))
    await Promise.all(this.#leaving)
    await Promise.all([...this.#functions.values()].map(({ host }) => host.close()))
    this.#sources.clear()
    this.#functions.clear()
  }

  /** One change after the other. */
  #apply(set: LambdaSet): Promise<void> {
    this.#changes = this.#changes.catch(() => undefined).then(() => this.#change(set))
    return this.#changes
  }

  async #change({ functions, eventSources }: LambdaSet): Promise<void> {
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
    const fed = new Set(eventSources.map((source) => source.function))
    this.#host(functions.filter(({ name }) => fed.has(name)))
    for (const { source, visibilityMs } of opening) {
      this.#sources.set(eventSourceKey(source), this.#open(source, visibilityMs))
    }
  }

  #isRunning(source: LambdaEventSource): boolean {
    const running = this.#sources.get(eventSourceKey(source))
    return running !== undefined && isSameEventSource(running.source, source)
  }

  /** A queue that is missing is found before anything is changed. */
  async #read(
    source: LambdaEventSource,
  ): Promise<{ readonly source: LambdaEventSource; readonly visibilityMs: number }> {
    const { settings } = await this.#options.backend.readQueue({ queue: source.queue })
    return { source, visibilityMs: settings.visibilityMs }
  }

  #leave(ending: Promise<void>): void {
    const leaving = ending.finally(() => this.#leaving.delete(leaving))
    this.#leaving.add(leaving)
  }

  #host(functions: readonly LambdaFunction[]): void {
    const names = new Set(functions.map(({ name }) => name))
    for (const [name, { host }] of this.#functions) {
      if (names.has(name)) continue
      this.#functions.delete(name)
      this.#leave(Promise.all(this.#leaving).then(() => host.close()))
    }
    for (const definition of functions) {
      const running = this.#functions.get(definition.name) ?? this.#openFunction(definition)
      running.limit.setMax(definition.reservedConcurrency ?? Number.POSITIVE_INFINITY)
      if (!isSameFunction(running.host.definition, definition)) running.host.redefine(definition)
    }
    this.#slots.serve()
  }

  #openFunction(definition: LambdaFunction): RunningFunction {
    const { ports, region, account, endpoint, hostEnvironment, idleMs, onLogLine } = this.#options
    const host = new FunctionHost(definition, {
      ports,
      place: { region, account, endpoint, host: hostEnvironment ?? {} },
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
    // The set was checked: every event source names a function of it.
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
      'messages may come again while they are processed: the visibility timeout is too short',
    )
  }

  #warn(what: PollerWork, facts: Readonly<Record<string, string | number>>, error: unknown): void {
    this.#log.warn({ ...facts, error: errorSummary(error) }, `${what} failed`)
  }
}

function misused(message: string): MillraceError {
  return new MillraceError('invalid_argument', { message })
}
