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
import type { MillraceError } from '../core/millrace-error.ts'
import type { Ports } from '../core/ports.ts'
import { notAJob } from '../receiving/read-delivery.ts'
import { type ReadMessage, readMessage } from '../receiving/read-message.ts'
import type { EmittedParts } from './attempt-emits.ts'
import { type AttemptEnd, outcomeOf } from './attempt-end.ts'
import { type EventDetails, eventAfter, eventOf, factsOf } from './attempt-facts.ts'
import type { Claim } from './claim-loop.ts'
import type { Claimed } from './claims-ahead.ts'
import { AttemptContext, type SharedContext } from './handler-context.ts'
import { endOf } from './handler-result.ts'
import { hiddenIn } from './hidden-values.ts'
import type { HeldLease, LeaseKeeper } from './lease-keeper.ts'
import { type Middleware, withMiddleware } from './middleware.ts'
import { isOutcome } from './outcomes.ts'
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
}

/** An attempt whose handler is running. */
export interface RunningAttempt {
  readonly context: AttemptContext
  /** Stops waiting for a handler that ignores its signal. */
  abandon(): void
}

/** How the handler itself ended. */
type HandlerEnd =
  | { readonly how: 'returned'; readonly value: unknown }
  | Extract<AttemptEnd, { readonly how: 'threw' | 'abandoned' }>

interface Attempt extends Claimed {
  readonly work: Work
  readonly context: AttemptContext
  readonly startedMs: number
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
    return this.#run(claimed, onFreed)
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

  async #run(claimed: Claimed, onFreed: () => void): Promise<void> {
    const { source, delivery, lease } = claimed
    const { keeper, ports } = this.#setup
    try {
      // The guard has released it while this thread was blocked.
      if (!keeper.start(lease)) return
      const work = this.#workFor(source, delivery)
      if (typeof work === 'string') {
        onFreed()
        return await this.#refuse(source, delivery, work)
      }
      // Most schemas and many handlers are synchronous, and a promise for each is expensive.
      const reading = readMessage(work.schema, delivery.body)
      const read = reading instanceof Promise ? await reading : reading
      if (read.status === 'unfit') {
        onFreed()
        const why = `invalid_message: ${read.error.message}`
        return await this.#refuse(source, delivery, why, valuesToHide(work, delivery))
      }
      const payload = read.status === 'read' ? read.message : undefined
      const context = this.#contextOf(claimed, payload)
      while (!keeper.mayLive(lease)) {
        if (!(await this.#isRenewed(lease))) return this.#reportLost(context)
      }
      lease.onLost = (loss) => context.abort(loss)
      const startedMs = ports.clock.monotonic()
      const attempt: Attempt = { source, delivery, work, context, lease, startedMs }
      const isFirst = context.attempt === 1
      const waitedMs = isFirst ? Math.max(0, delivery.leasedAt - delivery.sentAt) : null
      this.#report('started', { waitedMs }, attempt)
      const handling: HandlerEnd | Promise<HandlerEnd> =
        read.status === 'read'
          ? this.#handle(attempt, read.message)
          : { how: 'threw', error: read.error }
      const end = handling instanceof Promise ? await handling : handling
      onFreed()
      await this.#settleEnd(attempt, end, () => valuesToHide(work, delivery, read))
    } finally {
      onFreed()
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

  #reportLost(context: AttemptContext): void {
    const error = 'The lease expired before the handler started.'
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

  #contextOf({ source, delivery, lease }: Claimed, payload: unknown): AttemptContext {
    const { context, backend, keeper } = this.#setup
    const { queue, receipt } = lease
    const attempt: AttemptContext = new AttemptContext(context, {
      facts: factsOf(source, delivery),
      payload,
      lease,
      unit: delivery.unit,
      reportProgress: async (progress) => {
        if (delivery.job === null || backend.jobs === null) return
        const noted = await backend.jobs.reportProgress({ queue, receipt, progress })
        if (noted.status === 'refused') throw noted.error
        // Aborts a handler without a lease here, before the next check of the keeper.
        if (noted.status !== 'noted') {
          const job = await backend.jobs.read({ id: attempt.id })
          keeper.lose(lease, job?.status === 'cancelled' ? 'cancelled' : 'lease_lost')
        }
      },
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
    const { source, work, context, lease } = attempt
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
    let outcome: Outcome
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
      outcome = outcomeOf({ how: 'threw', error }, { ...circumstances, hide: hide() })
    }
    const settle = (settlement: Settlement): Promise<SettleResult> =>
      settler.settle(
        source.setup.name,
        settlement,
        () => !this.#isAbandoned && keeper.mayLive(lease),
      )
    try {
      let result = await settle(settlementOf(receipt, outcome, emitted))
      if (result.status === 'refused') {
        const threw = { how: 'threw', error: thrownBy(result.error) } as const
        outcome = outcomeOf(threw, { ...circumstances, hide: hide() })
        result = await settle({ receipt, outcome })
      }
      if (result.status === 'settled') {
        if (result.enqueued.length > 0) onEnqueued?.(emitted?.jobs ?? [], result.enqueued)
        this.#report(...eventAfter(outcome), attempt)
      } else await this.#reportUnsettled(attempt)
    } catch (error) {
      this.#report('lost', { error: errorSummary(error) }, attempt)
    }
  }

  /** The job may have been cancelled just now, before the signal of its handler was aborted. */
  async #reportUnsettled(attempt: Attempt): Promise<void> {
    const { observe, backend } = this.#setup
    if (observe === undefined) return
    const { abortKind, type, id } = attempt.context
    const job = abortKind === undefined && type !== null ? await backend.jobs?.read({ id }) : null
    const isCancelled = abortKind === 'cancelled' || job?.status === 'cancelled'
    this.#report(isCancelled ? 'cancelled' : 'lost', {}, attempt)
  }

  /** Dead-letters a delivery that can never be handled, without calling a handler. */
  async #refuse(
    source: Source,
    delivery: Delivery,
    why: string,
    hide: readonly string[] = [],
  ): Promise<void> {
    const { settler, observe } = this.#setup
    const { receipt } = delivery
    const reason = errorSummary(why, hide)
    try {
      await settler.settle(
        source.setup.name,
        { receipt, outcome: { kind: 'deadLetter', reason } },
        () => false,
      )
    } catch {
      // Its lease expires, and the next receiver refuses it again.
    }
    observe?.(eventOf('refused', factsOf(source, delivery), { error: reason }))
  }

  #report(event: WorkerEventName, more: EventDetails, { context, startedMs }: Attempt): void {
    const { observe, ports } = this.#setup
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

/** If the callback of `within` threw, that is a failure of the handler, with its error. */
function thrownBy(error: MillraceError): unknown {
  return error.code === 'within_failed' && error.cause !== undefined ? error.cause : error
}

/** The hidden values of the payload as it was sent, and of the output of its schema. */
function valuesToHide({ hidden }: Work, { body }: Delivery, read?: ReadMessage): readonly string[] {
  return hiddenIn(body, read?.status === 'read' ? read.message : undefined, hidden)
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  const then = typeof value === 'object' && value !== null && 'then' in value && value.then
  return typeof then === 'function'
}
