/**
 * Runs deliveries from claim to settlement: one by one, or as the items of a batch. It calls the handler
 * inside the middleware, enforces the timeout, and settles with everything that the handler emitted.
 */
import type { Delivery, Settlement } from '../backends/backend.ts'
import { Condition } from '../core/condition.ts'
import { isThenable } from '../core/is-thenable.ts'
import type { Traces } from '../observability/traces.ts'
import type { AbortKind } from './abort-reason.ts'
import { type AttemptTrace, traceAttempt } from './attempt-trace.ts'
import { type Attempt, Attempts, type AttemptsSetup } from './attempts.ts'
import { BatchRunner } from './batch-runner.ts'
import type { Claim } from './claim-request.ts'
import type { Claimed } from './claims-ahead.ts'
import type { HandlerEnd } from './handler-end.ts'
import type { HeldLease } from './lease-keeper.ts'
import { type Middleware, withMiddleware } from './middleware.ts'
import { RunningHandlers } from './running-handlers.ts'
import type { Source } from './source.ts'

export interface JobRunnerSetup extends AttemptsSetup {
  readonly layers: readonly Middleware[]
  /** Undefined if the app makes no spans. */
  readonly traces: Traces | undefined
}

export class JobRunner {
  readonly #setup: JobRunnerSetup
  readonly #attempts: Attempts
  readonly #running: RunningHandlers
  readonly #batches: BatchRunner
  /** Deliveries that are being run, settled or released. */
  #unsettled = 0
  readonly #idle = new Condition(() => this.isIdle)

  constructor(setup: JobRunnerSetup) {
    this.#setup = setup
    this.#attempts = new Attempts(setup)
    this.#running = new RunningHandlers(setup.ports.timers)
    this.#batches = new BatchRunner({
      ...setup,
      attempts: this.#attempts,
      running: this.#running,
      release: (claimed) => this.#release(claimed),
      onEnded: (lease) => this.#ended(lease),
    })
  }

  get isIdle(): boolean {
    return this.#unsettled === 0
  }

  /** How many handlers are running. */
  get running(): number {
    return this.#running.size
  }

  /** Resolves when nothing is being run or settled. */
  idle(): Promise<void> {
    return this.#idle.wait()
  }

  /** Asks all handlers to stop. */
  abort(kind: AbortKind): void {
    this.#running.abort(kind)
  }

  /** Stops waiting for handlers. */
  abandonHandlers(): void {
    this.#running.abandon()
  }

  /**
   * Stops waiting for handlers and for a failing store. Attempts that remain are released, or their leases
   * expire.
   */
  abandon(): void {
    this.#attempts.abandon()
    this.abandonHandlers()
  }

  hold(source: Source, { receipt, job }: Delivery, claim: Claim): HeldLease {
    const { name: queue, visibilityMs } = source.setup
    return this.#setup.keeper.hold({ queue, receipt, visibilityMs, jobId: job?.id, ...claim })
  }

  /**
   * Calls `onFreed` when the handler has ended and its slot is free; repeated calls have no effect. Resolves
   * when the delivery is settled.
   */
  run(claimed: Claimed, onFreed: () => void): Promise<void> {
    const { source, delivery } = claimed
    if (source.hasBatches && source.work(delivery.job?.type ?? '')?.batch !== undefined) {
      return this.runBatch([claimed], onFreed)
    }
    this.#unsettled += 1
    const { traces } = this.#setup
    if (traces === undefined) return this.#run(claimed, onFreed)
    return traceAttempt(traces, claimed, (trace) =>
      this.#run(claimed, trace.detached(onFreed), trace),
    )
  }

  /** The same for the items of a batch, which have one queue and one handler. */
  runBatch(items: readonly Claimed[], onFreed: () => void): Promise<void> {
    this.#unsettled += items.length
    return this.#batches.run(items, onFreed)
  }

  /** Releases a delivery that will not be run here, as if it had not been received. */
  release(claimed: Claimed): Promise<void> {
    this.#unsettled += 1
    return this.#release(claimed)
  }

  #release({ source, delivery: { receipt }, lease }: Claimed): Promise<void> {
    lease.isSettling = true
    const settlement: Settlement = { receipt, outcome: { kind: 'release' } }
    const end = (): void => this.#ended(lease)
    // If that fails, the lease expires. The message is delivered again, and the attempt counts.
    return this.#setup.settler.settle(source.setup.name, settlement, () => false).then(end, end)
  }

  #ended(lease: HeldLease): void {
    this.#setup.keeper.drop(lease)
    this.#unsettled -= 1
    this.#idle.check()
  }

  async #run(claimed: Claimed, onFreed: () => void, trace?: AttemptTrace): Promise<void> {
    const attempts = this.#attempts
    try {
      const opening = attempts.open(claimed, trace)
      const opened = opening instanceof Promise ? await opening : opening
      if (opened.kind === 'lost') return
      if (opened.kind === 'refusal') {
        onFreed()
        return await attempts.refuse(opened)
      }
      attempts.started(opened)
      const handling = opened.unread ?? this.#handle(opened)
      const end = handling instanceof Promise ? await handling : handling
      onFreed()
      const decision = await attempts.decide(opened, end)
      await attempts.conclude(opened, decision, attempts.settle(opened, decision))
    } finally {
      onFreed()
      trace?.end()
      this.#ended(claimed.lease)
    }
  }

  #handle({ context, work: { handler, timeoutMs } }: Attempt): HandlerEnd | Promise<HandlerEnd> {
    const { layers } = this.#setup
    const callHandler = (): unknown => handler(context.payload, context)
    let returned: unknown
    try {
      returned = layers.length === 0 ? callHandler() : withMiddleware(layers, callHandler)(context)
    } catch (error) {
      return { how: 'threw', error }
    }
    return isThenable(returned)
      ? this.#running.wait(context, timeoutMs, returned)
      : { how: 'returned', value: returned }
  }
}
