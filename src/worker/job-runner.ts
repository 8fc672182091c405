/**
 * Runs one delivery from claim to settlement. It checks the delivery against its contract and tier, calls the
 * handler inside the middleware, enforces the timeout, and settles with everything that the handler emitted.
 */
import type {
  Backend,
  Delivery,
  EmittedJob,
  Outcome,
  Settlement,
  SettleResult,
} from '../backends/backend.ts'
import type { EnqueuedJob } from '../backends/job-store.ts'
import type { TieredJob } from '../contracts/tier-declaration.ts'
import { errorSummary } from '../core/error-summary.ts'
import { isThenable } from '../core/is-thenable.ts'
import type { Ports } from '../core/ports.ts'
import type { Traces } from '../observability/traces.ts'
import { notAJob } from '../receiving/read-delivery.ts'
import { type ReadMessage, readMessage } from '../receiving/read-message.ts'
import type { EmittedParts } from './attempt-emits.ts'
import { outcomeOf } from './attempt-end.ts'
import { type EventDetails, eventAfter, eventOf, factsOf, lostAfter } from './attempt-facts.ts'
import { type AttemptTrace, traceAttempt } from './attempt-trace.ts'
import type { Claim } from './claim-loop.ts'
import type { Claimed } from './claims-ahead.ts'
import { AttemptContext, type SharedContext } from './handler-context.ts'
import { causeOf, type HandlerEnd, thrownBy } from './handler-end.ts'
import { endOf } from './handler-result.ts'
import { valuesToHide } from './hidden-values.ts'
import type { HeldLease, LeaseKeeper } from './lease-keeper.ts'
import { type Middleware, withMiddleware } from './middleware.ts'
import { isOutcome } from './outcomes.ts'
import { reportProgress } from './report-progress.ts'
import type { Settler } from './settler.ts'
import type { Source, Work } from './source.ts'
import type { WorkerEvent, WorkerEventName } from './worker-event.ts'

/** How long a handler may take to stop after its timeout. */
const timeoutGraceMs = 5_000

export interface JobRunnerSetup {
  readonly ports: Ports
  readonly backend: Pick<Backend, 'jobs'>
  readonly keeper: LeaseKeeper
  readonly settler: Settler
  readonly layers: readonly Middleware[]
  readonly context: SharedContext
  /** The reason why a job must not run in its queue; undefined if it may. */
  readonly misplacement: (job: TieredJob) => string | undefined
  /** Called with each event. Undefined if there is no listener. */
  readonly observe: ((event: WorkerEvent) => void) | undefined
  /** Called with the jobs that a settlement has created. Undefined if there is no listener. */
  readonly onEnqueued:
    | ((jobs: readonly EmittedJob[], enqueued: readonly EnqueuedJob[]) => void)
    | undefined
  /** Undefined if the app makes no spans. */
  readonly traces: Traces | undefined
}

/** An attempt whose handler is running. */
export interface RunningAttempt {
  readonly context: AttemptContext
  /** Stops waiting for a handler that ignores its signal. */
  abandon(): void
}

interface Attempt extends Claimed {
  readonly work: Work
  readonly context: AttemptContext
  readonly startedMs: number
  readonly trace: AttemptTrace | undefined
}

interface Refusal {
  readonly trace: AttemptTrace | undefined
  readonly cause?: unknown
  readonly hide?: readonly string[]
}

export class JobRunner {
  readonly #setup: JobRunnerSetup
  readonly running: Set<RunningAttempt> = new Set()
  /** Deliveries that are being run, settled or released. */
  #unsettled = 0
  #whenIdle: (() => void)[] = []
  #isAbandoned = false

  constructor(setup: JobRunnerSetup) {
    this.#setup = setup
  }

  get isIdle(): boolean {
    return this.#unsettled === 0
  }

  /** Resolves when nothing is being run or settled. */
  async idle(): Promise<void> {
    while (!this.isIdle) {
      await new Promise<void>((resolve) => {
        this.#whenIdle.push(resolve)
      })
    }
  }

  /**
   * Stops waiting for handlers and for a failing store. Attempts that remain are released, or their leases
   * expire.
   */
  abandon(): void {
    this.#isAbandoned = true
    for (const attempt of [...this.running]) attempt.abandon()
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
    this.#unsettled += 1
    const { traces } = this.#setup
    if (traces === undefined) return this.#run(claimed, onFreed)
    return traceAttempt(traces, claimed, (trace) =>
      this.#run(claimed, trace.detached(onFreed), trace),
    )
  }

  /** Releases a delivery that will not be run here, as if it had not been received. */
  release({ source, delivery: { receipt }, lease }: Claimed): Promise<void> {
    this.#unsettled += 1
    const settlement: Settlement = { receipt, outcome: { kind: 'release' } }
    const end = (): void => this.#ended(lease)
    // If that fails, the lease expires. The message is delivered again, and the attempt counts.
    return this.#setup.settler.settle(source.setup.name, settlement, () => false).then(end, end)
  }

  #ended(lease: HeldLease): void {
    this.#setup.keeper.drop(lease)
    this.#unsettled -= 1
    if (this.#unsettled > 0) return
    for (const resolve of this.#whenIdle.splice(0)) resolve()
  }

  async #run(claimed: Claimed, onFreed: () => void, trace?: AttemptTrace): Promise<void> {
    const { source, delivery, lease } = claimed
    const { keeper, ports } = this.#setup
    try {
      // The guard has released it while this thread was blocked.
      if (!keeper.start(lease)) return
      const work = this.#workFor(source, delivery)
      if (typeof work === 'string') {
        onFreed()
        return await this.#refuse(claimed, work, { trace })
      }
      // Most schemas and many handlers are synchronous, and a promise for each is expensive.
      const reading = readMessage(work.schema, delivery.body)
      const read = reading instanceof Promise ? await reading : reading
      if (read.status === 'unfit') {
        onFreed()
        const why = `invalid_message: ${read.error.message}`
        const hide = valuesToHide(work, delivery)
        return await this.#refuse(claimed, why, { trace, cause: read.error, hide })
      }
      const hide = (): readonly string[] => valuesToHide(work, delivery, read)
      const context = this.#contextOf(claimed, read, hide)
      while (!keeper.mayLive(lease)) {
        if (!(await this.#isRenewed(lease))) return this.#reportLost(context, trace)
      }
      lease.onLost = (loss) => context.abort(loss)
      const startedMs = ports.clock.monotonic()
      const attempt: Attempt = { source, delivery, work, context, lease, startedMs, trace }
      const isFirst = context.attempt === 1
      const waitedMs = isFirst ? Math.max(0, delivery.leasedAt - delivery.sentAt) : null
      this.#report('started', { waitedMs }, attempt)
      const handling: HandlerEnd | Promise<HandlerEnd> =
        read.status === 'read'
          ? this.#handle(attempt, read.message)
          : { how: 'threw', error: read.error }
      const end = handling instanceof Promise ? await handling : handling
      onFreed()
      await this.#settleEnd(attempt, end, hide)
    } finally {
      onFreed()
      trace?.end()
      this.#ended(lease)
    }
  }

  /** A handler never starts on an expired lease, even if this process was blocked since the claim. */
  async #isRenewed(lease: HeldLease): Promise<boolean> {
    try {
      return await this.#setup.keeper.renew(lease)
    } catch {
      return false
    }
  }

  #reportLost(context: AttemptContext, trace: AttemptTrace | undefined): void {
    const error = 'The lease expired before the handler started.'
    trace?.note('lost', { error })
    this.#setup.observe?.(eventOf('lost', context, { error }))
  }

  /** How to run the delivery, or the reason why it is refused. */
  #workFor(source: Source, { job }: Delivery): Work | string {
    if (!source.isJobs) return source.work('') ?? 'The worker has no handler for this queue.'
    if (job === null) return notAJob
    const work = source.work(job.type)
    if (work === undefined) return `The queue has no job type '${job.type.slice(0, 40)}'.`
    const { type, tier } = job
    const place = { queue: source.setup.key, type, tier: tier ?? undefined }
    return this.#setup.misplacement(place) ?? work
  }

  #contextOf(claimed: Claimed, read: ReadMessage, hide: () => readonly string[]): AttemptContext {
    const { source, delivery, lease } = claimed
    const attempt: AttemptContext = new AttemptContext(this.#setup.context, {
      facts: factsOf(source, delivery),
      payload: read.status === 'read' ? read.message : undefined,
      lease,
      unit: delivery.unit,
      keepsLogs: source.keepsLogs,
      hide,
      reportProgress: (progress) => reportProgress(this.#setup, claimed, attempt, progress),
    })
    return attempt
  }

  #handle(attempt: Attempt, message: unknown): HandlerEnd | Promise<HandlerEnd> {
    const { context, work } = attempt
    const { layers } = this.#setup
    let returned: unknown
    try {
      returned =
        layers.length === 0
          ? work.handler(message, context)
          : withMiddleware(layers, () => work.handler(message, context))(context)
    } catch (error) {
      return { how: 'threw', error }
    }
    return isThenable(returned)
      ? this.#wait(attempt, returned)
      : { how: 'returned', value: returned }
  }

  /** Waits until a handler has ended or is abandoned. */
  #wait(attempt: Attempt, promise: PromiseLike<unknown>): Promise<HandlerEnd> {
    return new Promise((resolve) => {
      const stopWatching = this.#watchTime(attempt)
      const { context } = attempt
      const running: RunningAttempt = { context, abandon: () => finish({ how: 'abandoned' }) }
      this.running.add(running)
      const finish = (end: HandlerEnd): void => {
        stopWatching()
        this.running.delete(running)
        resolve(end)
      }
      promise.then(
        (value) => finish({ how: 'returned', value }),
        (error: unknown) => finish({ how: 'threw', error }),
      )
    })
  }

  /** Asks the handler to stop after its timeout, and abandons it after the grace period. */
  #watchTime({ work: { timeoutMs }, context }: Attempt): () => void {
    if (timeoutMs === undefined) return () => undefined
    const { timers } = this.#setup.ports
    let cancel = timers.after(timeoutMs, () => {
      context.abort('timeout')
      cancel = timers.after(timeoutGraceMs, () => {
        for (const one of this.running) if (one.context === context) one.abandon()
      })
    })
    return () => cancel()
  }

  async #settleEnd(
    attempt: Attempt,
    end: HandlerEnd,
    hide: () => readonly string[],
  ): Promise<void> {
    const { source, work, context, lease, trace } = attempt
    const { settler, keeper, ports, onEnqueued } = this.#setup
    const circumstances = {
      attempt: context.attempt,
      maxAttempts: context.maxAttempts,
      backoff: attempt.delivery.job?.backoff ?? work.backoff,
      canFail: source.isJobs || source.setup.maxReceives !== null,
      abortKind: context.abortKind,
      hide: end.how === 'returned' && !isOutcome(end.value) ? [] : hide(),
      chance: ports.randomness.next(),
    }
    const { receipt } = attempt.delivery
    if (end.how === 'threw') trace?.threw(end.error)
    let outcome: Outcome
    let cause = causeOf(end, context)
    let emitted: EmittedParts | undefined
    try {
      const ending = end.how === 'returned' ? endOf(end.value, work) : end
      outcome = outcomeOf(ending instanceof Promise ? await ending : ending, circumstances)
      if (outcome.kind === 'acknowledge') {
        const drafting = context.emitted(outcome.result)
        emitted = drafting instanceof Promise ? await drafting : drafting
      }
    } catch (error) {
      // The result, or something that the handler emitted, does not fit its contract.
      trace?.threw(error)
      cause = error
      outcome = outcomeOf({ how: 'threw', error }, { ...circumstances, hide: hide() })
    }
    const logs = context.lines?.takeLast()
    const isWorthwhile = (): boolean => !this.#isAbandoned && keeper.mayLive(lease)
    const write = (settlement: Settlement): Promise<SettleResult> => {
      const logged = logs === undefined ? settlement : { ...settlement, logs }
      return settler.settle(source.setup.name, logged, isWorthwhile)
    }
    const settle = (settlement: Settlement): Promise<SettleResult> =>
      trace === undefined
        ? write(settlement)
        : trace.settle(settlement.outcome, () => write(settlement))
    try {
      let result = await settle(settlementOf(receipt, outcome, emitted))
      if (result.status === 'refused') {
        cause = thrownBy(result.error)
        trace?.threw(cause)
        outcome = outcomeOf({ how: 'threw', error: cause }, { ...circumstances, hide: hide() })
        result = await settle({ receipt, outcome })
      }
      if (result.status === 'settled') {
        if (result.enqueued.length > 0) onEnqueued?.(emitted?.jobs ?? [], result.enqueued)
        this.#report(...eventAfter(outcome, cause), attempt)
      } else await this.#reportUnsettled(attempt, lostAfter(outcome, cause))
    } catch (error) {
      this.#report('lost', lostAfter(outcome, error, errorSummary(error)), attempt)
    }
  }

  /** The job may have been cancelled just now, before the signal of its handler was aborted. */
  async #reportUnsettled(attempt: Attempt, lost: EventDetails): Promise<void> {
    const { observe, backend } = this.#setup
    if (observe === undefined && attempt.trace === undefined) return
    const { abortKind, type, id } = attempt.context
    const job = abortKind === undefined && type !== null ? await backend.jobs?.read({ id }) : null
    const isCancelled = abortKind === 'cancelled' || job?.status === 'cancelled'
    if (isCancelled) this.#report('cancelled', {}, attempt)
    else this.#report('lost', lost, attempt)
  }

  /** Dead-letters a delivery that can never be handled, without calling a handler. */
  async #refuse(
    { source, delivery }: Claimed,
    why: string,
    { trace, cause, hide = [] }: Refusal,
  ): Promise<void> {
    const { settler, observe } = this.#setup
    const { receipt } = delivery
    const reason = errorSummary(why, hide)
    trace?.note('refused', { error: reason })
    try {
      await settler.settle(
        source.setup.name,
        { receipt, outcome: { kind: 'deadLetter', reason } },
        () => false,
      )
    } catch {
      // Its lease expires, and the next receiver refuses it again.
    }
    observe?.(eventOf('refused', factsOf(source, delivery), { error: reason, cause }))
  }

  #report(event: WorkerEventName, more: EventDetails, attempt: Attempt): void {
    const { context, startedMs, trace } = attempt
    const { observe, ports } = this.#setup
    trace?.note(event, more)
    if (observe === undefined) return
    const durationMs = event === 'started' ? 0 : ports.clock.monotonic() - startedMs
    observe(eventOf(event, context, { durationMs, ...more }))
  }
}

function settlementOf(
  receipt: string,
  outcome: Outcome,
  emitted: EmittedParts | undefined,
): Settlement {
  return emitted === undefined ? { receipt, outcome } : { ...emitted, receipt, outcome }
}
