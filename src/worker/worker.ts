/**
 * A worker: one claim loop for all its queues, its running handlers, and their leases. It can be started and
 * stopped repeatedly. Concurrent calls of `stop` share one promise.
 */
import type { Backend } from '../backends/backend.ts'
import { checkRange, type Violations } from '../core/checks.ts'
import { limits } from '../core/limits.ts'
import { isStoreGone, MillraceError } from '../core/millrace-error.ts'
import { pause } from '../core/pause.ts'
import type { Ports } from '../core/ports.ts'
import { ClaimLoop } from './claim-loop.ts'
import { claimsAheadMax } from './claims-ahead.ts'
import { JobRunner, type JobRunnerSetup } from './job-runner.ts'
import { LeaseGuard } from './lease-guard.ts'
import { LeaseKeeper } from './lease-keeper.ts'
import type { Middleware } from './middleware.ts'
import { Settler } from './settler.ts'
import type { Source } from './source.ts'
import type { WorkerEvent } from './worker-event.ts'

/** How long handlers may take after they were asked to stop, before their messages are released. */
const abortGraceMs = 1_000

/**
 * Any length works: the timer only keeps the process alive while the worker waits for messages. A long one
 * spares tests the steps of their virtual time.
 */
const aliveMs = 365 * 86_400_000

/** Entries of a table with about a kilobyte each. */
const batchedLeasesMax = 5_000

export interface Worker {
  /** Starts polling. */
  start(): void
  /**
   * Stops polling and waits for running handlers. Messages whose handlers have not ended in time are
   * released, and the attempt does not count.
   */
  stop(options?: { readonly timeoutMs?: number }): Promise<void>
  /**
   * Starts the worker and stops it at SIGTERM or SIGINT. Resolves when it has stopped. Rejects if the files
   * of the store were replaced. A second signal exits the process at once.
   */
  run(): Promise<void>
  /**
   * Starts the worker if necessary and stops it when it has nothing to run now: no message of its queues is
   * ready, and none runs here. Messages that are delayed, retried later, held by a switch or a ceiling, or
   * run by another worker do not count. Resolves when it has stopped. Rejects if the store was closed or
   * replaced before.
   */
  drain(): Promise<void>
  /** Changes the weight of a queue from the next claim on. */
  setWeight(queue: string, weight: number): void
  /** How many handlers are running. */
  readonly running: number
}

/** A worker as its app and tests see it. */
export interface DrivenWorker extends Worker {
  /** Whether it has not yet settled the delivery with this receipt. */
  holds(receipt: string): boolean
  /**
   * Resolves when nothing is claimed, runs or is being settled, as far as the worker knows. A test moves its
   * virtual clock then.
   */
  quiet(): Promise<void>
}

export interface WorkerSetup {
  readonly backend: Backend
  readonly ports: Ports
  readonly sources: readonly Source[]
  readonly concurrency: number
  readonly stopTimeoutMs: number
  readonly layers: readonly Middleware[]
  readonly heldNames: readonly string[]
  readonly context: JobRunnerSetup['context']
  readonly misplacement: JobRunnerSetup['misplacement']
  readonly observe: ((event: WorkerEvent) => void) | undefined
  readonly onEnqueued: JobRunnerSetup['onEnqueued']
  readonly traces?: JobRunnerSetup['traces']
  /** Called when the store failed, with the time until the next try. */
  readonly onFailure: (
    what: 'claim' | 'settle',
    queue: string,
    error: unknown,
    retryInMs: number,
  ) => void
  /** Whether a separate thread also keeps leases. */
  readonly guarded: boolean
  /** Called at every start. */
  readonly onStarted: () => void
  /** Calls `run` at the first SIGTERM or SIGINT. Returns a function that stops listening. */
  readonly onSignal: (run: () => void) => () => void
}

export function createWorker(setup: WorkerSetup): DrivenWorker {
  let current: WorkerRun | undefined
  let stopping: Promise<void> | undefined
  /** Why the store can no longer be used. */
  let loss: MillraceError | undefined
  const worker: DrivenWorker = {
    start() {
      if (stopping !== undefined) throw stillStopping()
      if (current !== undefined) return
      loss = undefined
      const begin = (): WorkerRun =>
        new WorkerRun(setup, (error) => {
          loss = error
          void worker.stop()
        })
      current = setup.traces === undefined ? begin() : setup.traces.detached(begin)
      setup.onStarted()
    },
    stop({ timeoutMs = setup.stopTimeoutMs } = {}) {
      if (current === undefined) return Promise.resolve()
      stopping ??= current.end(timeoutMs).finally(() => {
        current = undefined
        stopping = undefined
      })
      return stopping
    },
    async run() {
      worker.start()
      const { promise: ended, resolve: end } = Promise.withResolvers<void>()
      const stopListening = setup.onSignal(end)
      current?.whenEnded(end)
      await ended
      await worker.stop()
      stopListening()
      if (loss?.code === 'store_replaced') throw loss
    },
    async drain() {
      worker.start()
      const { promise: ended, resolve: end } = Promise.withResolvers<void>()
      current?.whenEnded(end)
      void current?.drained().then(end)
      await ended
      await worker.stop()
      if (loss !== undefined) throw loss
    },
    holds: (receipt) => current?.holds(receipt) ?? false,
    async quiet() {
      await current?.quiet()
    },
    setWeight(queue, weight) {
      const source = setup.sources.find(({ setup: { key } }) => key === queue)
      const violations: Violations = []
      checkRange(violations, 'weight', weight, limits.pollWeight)
      if (source === undefined) {
        const allowed = `one of ${setup.sources.map(({ setup: { key } }) => key).join(', ')}`
        violations.push({ field: 'queue', given: `'${String(queue).slice(0, 40)}'`, allowed })
      }
      if (violations.length > 0) throw MillraceError.invalid(violations)
      if (source !== undefined) source.weight = weight
    },
    get running() {
      return current?.running ?? 0
    },
  }
  return worker
}

/** From one start to the stop after it. */
class WorkerRun {
  readonly #setup: WorkerSetup
  readonly #guard: LeaseGuard | undefined
  readonly #keeper: LeaseKeeper
  readonly #runner: JobRunner
  readonly #loop: ClaimLoop
  readonly #onEnd: (() => void)[] = []
  #letGo: () => void = () => undefined

  /** `onGone` is called when the store was closed or replaced, so that the worker must stop. */
  constructor(setup: WorkerSetup, onGone: (error: MillraceError) => void) {
    const { backend, ports, sources, layers, context, misplacement, observe, onEnqueued } = setup
    this.#setup = setup
    this.#guard = guardOf(setup)
    this.#keeper = new LeaseKeeper({ backend, ports, guard: this.#guard })
    const settler = new Settler({
      backend,
      ports,
      onRetry: (queue, error, retryInMs) => {
        const source = sources.find(({ setup: { name } }) => name === queue)
        setup.onFailure('settle', source?.setup.key ?? queue, error, retryInMs)
      },
      expectsMore: () => this.#loop.hasWaiting,
      onProgress: () => this.#loop.start(),
    })
    const runner = new JobRunner({
      ports,
      backend,
      keeper: this.#keeper,
      settler,
      layers,
      context,
      misplacement,
      observe,
      onEnqueued,
      traces: setup.traces,
    })
    this.#runner = runner
    this.#loop = new ClaimLoop({
      backend,
      ports,
      sources,
      concurrency: setup.concurrency,
      heldNames: setup.heldNames,
      hold: (source, delivery, claim) => runner.hold(source, delivery, claim),
      run: (claimed, onFreed) => void runner.run(claimed, onFreed),
      runBatch: (items, onFreed) => void runner.runBatch(items, onFreed),
      release: (claimed) => runner.release(claimed),
      isHeldBack: () => settler.isBehind(setup.concurrency),
      onDrained: () => settler.flushSoon(),
      onFailure: ({ setup: { key } }, error, retryInMs) => {
        setup.onFailure('claim', key, error, retryInMs)
        if (isStoreGone(error)) onGone(error)
      },
    })
    for (const source of sources) source.state = 'ready'
    this.#stayAlive()
    this.#loop.start()
  }

  get running(): number {
    return this.#runner.running
  }

  holds(receipt: string): boolean {
    return this.#keeper.holds(receipt)
  }

  whenEnded(run: () => void): void {
    this.#onEnd.push(run)
  }

  /**
   * Resolves when nothing is left to run. A message that a handler sends exists before its queue announces
   * it. So each queue is claimed from once more after the last handler was settled.
   */
  async drained(): Promise<void> {
    this.#loop.hurryBatches()
    do await this.quiet()
    while (!(await this.#loop.recheck()))
  }

  async quiet(): Promise<void> {
    while (!(this.#loop.isQuiet && this.#runner.isIdle)) {
      await this.#loop.quiet()
      await this.#runner.idle()
    }
  }

  async end(timeoutMs: number): Promise<void> {
    const idle = this.#loop.stop().then(() => this.#runner.idle())
    for (const run of this.#onEnd) run()
    if (!(await this.#within(idle, timeoutMs))) {
      this.#runner.abort('shutdown')
      if (!(await this.#within(idle, abortGraceMs))) {
        this.#runner.abandon()
        await idle
      }
    }
    this.#keeper.stop()
    this.#letGo()
    await this.#guard?.stop()
  }

  #stayAlive(): void {
    this.#letGo = this.#setup.ports.timers.after(aliveMs, () => this.#stayAlive())
  }

  /** Whether it was done in time. */
  async #within(done: Promise<void>, timeoutMs: number): Promise<boolean> {
    const waiting = new AbortController()
    const inTime = await Promise.race([
      done.then(() => true),
      pause(this.#setup.ports.timers, timeoutMs, waiting.signal).then(() => false),
    ])
    waiting.abort()
    return inTime
  }
}

function guardOf({ backend, guarded, sources, concurrency }: WorkerSetup): LeaseGuard | undefined {
  if (!guarded || backend.otherThread === null) return undefined
  return new LeaseGuard({
    store: backend.otherThread,
    // A lease stays in the table until it is settled, some time after its slot was reused.
    slots: (concurrency + claimsAheadMax + batchedLeases(sources)) * 2,
    queues: sources.map(({ setup: { name } }) => name),
    leaseMsMin: Math.min(...sources.map(({ setup: { visibilityMs } }) => visibilityMs)),
  })
}

/** How many items the batches of all queues may have at once. Beyond this, only the event loop renews. */
function batchedLeases(sources: readonly Source[]): number {
  const most = sources.map(({ works, setup: { concurrency } }) => {
    return concurrency * Math.max(0, ...works.map(({ batch }) => batch?.size ?? 0))
  })
  return Math.min(batchedLeasesMax, Math.max(0, ...most))
}

function stillStopping(): MillraceError {
  return new MillraceError('invalid_argument', {
    message: 'The worker is still stopping. Await stop() before you start it again.',
  })
}
