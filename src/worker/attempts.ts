/**
 * The attempts of a worker, before and after their handlers: a delivery is checked against its contract and
 * tier and gets a context; the end of its handler becomes an outcome, which is settled and reported.
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
import { isOutcome } from '../contracts/handler-outcome.ts'
import type { TieredJob } from '../contracts/tier-declaration.ts'
import { errorSummary } from '../core/error-summary.ts'
import type { Ports } from '../core/ports.ts'
import { notAJob } from '../receiving/read-delivery.ts'
import { type ReadMessage, readMessage } from '../receiving/read-message.ts'
import type { EmittedParts } from './attempt-emits.ts'
import { type AttemptCircumstances, outcomeOf } from './attempt-end.ts'
import { type EventDetails, eventAfter, eventOf, factsOf, lostAfter } from './attempt-facts.ts'
import type { AttemptTrace } from './attempt-trace.ts'
import type { Claimed } from './claims-ahead.ts'
import { AttemptContext, type SharedContext } from './handler-context.ts'
import { causeOf, type HandlerEnd, thrownBy } from './handler-end.ts'
import { endOf } from './handler-result.ts'
import { valuesToHide } from './hidden-values.ts'
import type { HeldLease, LeaseKeeper } from './lease-keeper.ts'
import { reportProgress } from './report-progress.ts'
import type { Settler } from './settler.ts'
import type { Source, Work } from './source.ts'
import type { WorkerEvent, WorkerEventName } from './worker-event.ts'

export interface AttemptsSetup {
  readonly ports: Ports
  readonly backend: Pick<Backend, 'jobs'>
  readonly keeper: LeaseKeeper
  readonly settler: Settler
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

/** Values that no error and no log line may quote. */
export type Hide = () => readonly string[]

export interface Attempt extends Claimed {
  readonly kind: 'attempt'
  readonly work: Work
  readonly context: AttemptContext
  readonly startedMs: number
  readonly trace: AttemptTrace | undefined
  readonly hide: Hide
  /** Set if the schema failed. The attempt then ends without its handler. */
  readonly unread: HandlerEnd | undefined
}

/** A delivery that can never be handled. */
export interface Refusal extends Claimed {
  readonly kind: 'refusal'
  readonly why: string
  readonly trace: AttemptTrace | undefined
  readonly cause?: unknown
  readonly hide?: readonly string[]
}

/** The lease was lost before the handler started. */
interface Lost {
  readonly kind: 'lost'
}

export type Opened = Attempt | Refusal | Lost

const lost: Lost = { kind: 'lost' }

/** The outcome of an attempt before it is settled. */
export interface Decision {
  readonly outcome: Outcome
  readonly cause: unknown
  readonly emitted: EmittedParts | undefined
  readonly circumstances: AttemptCircumstances
  readonly logs: Settlement['logs']
}

export class Attempts {
  readonly #setup: AttemptsSetup
  #isAbandoned = false

  constructor(setup: AttemptsSetup) {
    this.#setup = setup
  }

  /** Stops retrying settlements that the store does not take. Their leases expire. */
  abandon(): void {
    this.#isAbandoned = true
  }

  /**
   * Synchronous if the schema is, and the lease needs no renewal. Most are, and a promise for each attempt is
   * expensive.
   *
   * @param widen returns what to hide, given the values of this delivery
   */
  open(
    claimed: Claimed,
    trace: AttemptTrace | undefined,
    widen?: (own: Hide) => Hide,
  ): Opened | Promise<Opened> {
    const { source, delivery, lease } = claimed
    // False if the guard has released it while this thread was blocked.
    if (!this.#setup.keeper.start(lease)) return lost
    const work = this.#workFor(source, delivery)
    if (typeof work === 'string') {
      return { kind: 'refusal', source, delivery, lease, why: work, trace }
    }
    const reading = readMessage(work.schema, delivery.body)
    return reading instanceof Promise
      ? reading.then((read) => this.#opened(claimed, work, read, trace, widen))
      : this.#opened(claimed, work, reading, trace, widen)
  }

  #opened(
    claimed: Claimed,
    work: Work,
    read: ReadMessage,
    trace: AttemptTrace | undefined,
    widen: ((own: Hide) => Hide) | undefined,
  ): Opened | Promise<Opened> {
    const { source, delivery, lease } = claimed
    if (read.status === 'unfit') {
      const why = `invalid_message: ${read.error.message}`
      const hidden = valuesToHide(work, delivery)
      const more = { why, trace, cause: read.error, hide: hidden }
      return { kind: 'refusal', source, delivery, lease, ...more }
    }
    const own: Hide = () => valuesToHide(work, delivery, read)
    const hide = widen === undefined ? own : widen(own)
    const context = this.#contextOf(claimed, read, hide)
    const { keeper, ports } = this.#setup
    const begin = (): Attempt => {
      lease.onLost = (loss) => context.abort(loss)
      return {
        kind: 'attempt',
        source,
        delivery,
        lease,
        work,
        context,
        startedMs: ports.clock.monotonic(),
        trace,
        hide,
        unread: read.status === 'read' ? undefined : { how: 'threw', error: read.error },
      }
    }
    return keeper.mayLive(lease) ? begin() : this.#renewed(lease, context, trace, begin)
  }

  /** A handler never starts on an expired lease, even if this process was blocked since the claim. */
  async #renewed(
    lease: HeldLease,
    context: AttemptContext,
    trace: AttemptTrace | undefined,
    begin: () => Attempt,
  ): Promise<Opened> {
    const { keeper } = this.#setup
    while (!keeper.mayLive(lease)) {
      const isRenewed = await keeper.renew(lease).catch(() => false)
      if (isRenewed) continue
      this.lost(context, trace)
      return lost
    }
    return begin()
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

  #contextOf(claimed: Claimed, read: ReadMessage, hide: Hide): AttemptContext {
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

  /** Reports a lease that was lost before the handler started. */
  lost(context: AttemptContext, trace: AttemptTrace | undefined): void {
    const error = 'The lease expired before the handler started.'
    trace?.note('lost', { error })
    this.#setup.observe?.(eventOf('lost', context, { error }))
  }

  /** Reports the start of a handler. */
  started(attempt: Attempt): void {
    const { context, delivery } = attempt
    const isFirst = context.attempt === 1
    const waitedMs = isFirst ? Math.max(0, delivery.leasedAt - delivery.sentAt) : null
    this.#report('started', { waitedMs }, attempt)
  }

  /** Decides the outcome, and checks the result and everything that was emitted. */
  async decide(attempt: Attempt, end: HandlerEnd): Promise<Decision> {
    const { source, work, context, trace, hide } = attempt
    const circumstances: AttemptCircumstances = {
      attempt: context.attempt,
      maxAttempts: context.maxAttempts,
      backoff: attempt.delivery.job?.backoff ?? work.backoff,
      canFail: source.isJobs || source.setup.maxReceives !== null,
      abortKind: context.abortKind,
      hide: end.how === 'returned' && !isOutcome(end.value) ? [] : hide(),
      chance: this.#setup.ports.randomness.next(),
    }
    if (end.how === 'threw') trace?.threw(end.error)
    const cause = causeOf(end, context)
    try {
      const ending = end.how === 'returned' ? endOf(end.value, work) : end
      const outcome = outcomeOf(ending instanceof Promise ? await ending : ending, circumstances)
      let emitted: EmittedParts | undefined
      if (outcome.kind === 'acknowledge') {
        const drafting = context.emitted(outcome.result)
        emitted = drafting instanceof Promise ? await drafting : drafting
      }
      return { outcome, cause, emitted, circumstances, logs: context.lines?.takeLast() }
    } catch (error) {
      // The result, or something that the handler emitted, does not fit its contract.
      return this.#failed(attempt, error, { circumstances, logs: context.lines?.takeLast() })
    }
  }

  #failed(
    { trace, hide }: Attempt,
    error: unknown,
    { circumstances, logs }: Pick<Decision, 'circumstances' | 'logs'>,
  ): Decision {
    trace?.threw(error)
    const outcome = outcomeOf({ how: 'threw', error }, { ...circumstances, hide: hide() })
    return { outcome, cause: error, emitted: undefined, circumstances, logs }
  }

  /** Settles an attempt by itself. */
  settle(attempt: Attempt, decision: Decision): Promise<SettleResult> {
    const { source, trace } = attempt
    attempt.lease.isSettling = true
    const settlement = this.settlementOf(attempt, decision)
    const write = (): Promise<SettleResult> =>
      this.#setup.settler.settle(source.setup.name, settlement, () => this.isWorthwhile(attempt))
    return trace === undefined ? write() : trace.settle(settlement.outcome, write)
  }

  settlementOf({ delivery: { receipt } }: Attempt, decision: Decision): Settlement {
    const { outcome, emitted, logs } = decision
    const settlement =
      emitted === undefined ? { receipt, outcome } : { ...emitted, receipt, outcome }
    return logs === undefined ? settlement : { ...settlement, logs }
  }

  /** Whether a settlement that failed should be tried again. */
  isWorthwhile({ lease }: Attempt): boolean {
    return !this.#isAbandoned && this.#setup.keeper.mayLive(lease)
  }

  /** Reports the end of an attempt. If the store refused what it emitted, the attempt fails. */
  async conclude(
    attempt: Attempt,
    decision: Decision,
    settling: Promise<SettleResult>,
  ): Promise<void> {
    let decided = decision
    try {
      let result = await settling
      if (result.status === 'refused') {
        decided = this.#failed(attempt, thrownBy(result.error), decision)
        result = await this.settle(attempt, decided)
      }
      const { outcome, cause, emitted } = decided
      if (result.status === 'settled') {
        if (result.enqueued.length > 0) {
          this.#setup.onEnqueued?.(emitted?.jobs ?? [], result.enqueued)
        }
        this.#report(...eventAfter(outcome, cause), attempt)
      } else await this.#reportUnsettled(attempt, lostAfter(outcome, cause))
    } catch (error) {
      this.#report('lost', lostAfter(decided.outcome, error, errorSummary(error)), attempt)
    }
  }

  /** The job may have been cancelled just now, before the signal of its handler was aborted. */
  async #reportUnsettled(attempt: Attempt, details: EventDetails): Promise<void> {
    const { observe, backend } = this.#setup
    if (observe === undefined && attempt.trace === undefined) return
    const { abortKind, type, id } = attempt.context
    const job = abortKind === undefined && type !== null ? await backend.jobs?.read({ id }) : null
    const isCancelled = abortKind === 'cancelled' || job?.status === 'cancelled'
    if (isCancelled) this.#report('cancelled', {}, attempt)
    else this.#report('lost', details, attempt)
  }

  /** Dead-letters a delivery that can never be handled, without calling a handler. */
  async refuse({ source, delivery, why, trace, cause, hide = [] }: Refusal): Promise<void> {
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
