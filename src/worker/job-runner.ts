/**
 * Runs one delivery from claim to settlement: checks it against its contract and its tier, gives it to
 * its handler inside the middleware, watches its time, and settles it with all that the handler sent.
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
import { endOf } from './handler-answer.ts'
import { AttemptContext, type SharedContext } from './handler-context.ts'
import { hiddenValues } from './hidden-values.ts'
import type { HeldLease, LeaseKeeper } from './lease-keeper.ts'
import { type Middleware, withMiddleware } from './middleware.ts'
import { isOutcome } from './outcomes.ts'
import type { Settler } from './settler.ts'
import type { Source, Work } from './source.ts'
import type { WorkerEvent, WorkerEventName } from './worker-event.ts'

/** So long a handler may take to stop after its time is up. */
const timeoutGraceMs = 5_000

export interface JobRunnerSetup {
  readonly ports: Ports
  readonly backend: Pick<Backend, 'jobs'>
  readonly keeper: LeaseKeeper
  readonly settler: Settler
  readonly layers: readonly Middleware[]
  readonly context: SharedContext
  /** Why a job must not run in its queue; undefined when it may. */
  readonly misplacement: (job: TieredJob) => string | undefined
  /** Undefined when nobody listens. */
  readonly observe: ((event: WorkerEvent) => void) | undefined
  /** Told of the jobs that came to exist with a settlement; undefined when nobody listens. */
  readonly onEnqueued:
    | ((jobs: readonly EmittedJob[], enqueued: readonly EnqueuedJob[]) => void)
    | undefined
}

/** A delivery in the hands of a handler. */
export interface RunningAttempt {
  readonly context: AttemptContext
  /** Stops waiting for the handler, which has not stopped though it was asked to. */
  giveUp(): void
}

/** What became of the handler itself. */
type HandlerEnd =
  | { readonly how: 'answered'; readonly answer: unknown }
  | Extract<AttemptEnd, { readonly how: 'threw' | 'given_up' }>

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
  #hasGivenUp = false

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

  /** Waits neither for handlers nor for a store that fails: what is left is handed back, or lapses. */
  giveUp(): void {
    this.#hasGivenUp = true
    for (const attempt of [...this.running]) attempt.giveUp()
  }

  hold(source: Source, { receipt, job }: Delivery, claim: Claim): HeldLease {
    const { name: queue, visibilityMs } = source.setup
    return this.#setup.keeper.hold({ queue, receipt, visibilityMs, jobId: job?.id, ...claim })
  }

  /** `onFreed` is called when the handler has ended and its slot may be used again; only once counts. */
  run(claimed: Claimed, onFreed: () => void): void {
    this.#unsettled += 1
    void this.#run(claimed, onFreed)
  }

  /** Releases a delivery that will not be run here, as if it had not been received. */
  release({ source, delivery: { receipt }, lease }: Claimed): Promise<void> {
    this.#unsettled += 1
    const settlement: Settlement = { receipt, outcome: { kind: 'release' } }
    const end = (): void => this.#ended(lease)
    // If that fails, its lease lapses: it comes back, and has cost an attempt.
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
      // Most schemas and many handlers are done at once, and a promise for each has its price.
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
        if (!(await this.#isRenewed(lease))) return this.#tellLost(context)
      }
      lease.onLost = (loss) => context.abort(loss)
      const startedMs = ports.clock.monotonic()
      const attempt: Attempt = { source, delivery, work, context, lease, startedMs }
      const isFirst = context.attempt === 1
      const waitedMs = isFirst ? Math.max(0, delivery.leasedAt - delivery.sentAt) : null
      this.#tell('started', { waitedMs }, attempt)
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

  /** A handler never starts on an expired lease, whatever has blocked this process since the claim. */
  async #isRenewed(lease: HeldLease): Promise<boolean> {
    try {
      return await this.#setup.keeper.renew(lease)
    } catch {
      return false
    }
  }

  #tellLost(context: AttemptContext): void {
    const error = 'The lease expired before the handler could start.'
    this.#setup.observe?.(eventOf('lost', context, { error }))
  }

  /** How the delivery is to be run, or why it is not. */
  #workFor(source: Source, { job }: Delivery): Work | string {
    if (!source.isJobs) return source.work('') ?? 'There is no handler for this queue.'
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
        // A handler that is too late learns it here, before the keeper's next look.
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
    let answer: unknown
    try {
      answer =
        layers.length === 0
          ? work.handler(message, context)
          : withMiddleware(layers, () => work.handler(message, context))(context)
    } catch (error) {
      return { how: 'threw', error }
    }
    return isThenable(answer) ? this.#wait(attempt, answer) : { how: 'answered', answer }
  }

  /** Waits for a handler, until it has ended, or is given up. */
  #wait(attempt: Attempt, answer: PromiseLike<unknown>): Promise<HandlerEnd> {
    return new Promise((resolve) => {
      const stopWatching = this.#watchTime(attempt)
      const { context } = attempt
      const running: RunningAttempt = { context, giveUp: () => finish({ how: 'given_up' }) }
      this.running.add(running)
      const finish = (end: HandlerEnd): void => {
        stopWatching()
        this.running.delete(running)
        resolve(end)
      }
      answer.then(
        (value) => finish({ how: 'answered', answer: value }),
        (error: unknown) => finish({ how: 'threw', error }),
      )
    })
  }

  /** Asks the handler to stop when its time is up, and gives it up a little later. */
  #watchTime({ work: { timeoutMs }, context }: Attempt): () => void {
    if (timeoutMs === undefined) return () => undefined
    const { timers } = this.#setup.ports
    let cancel = timers.after(timeoutMs, () => {
      context.abort('timeout')
      cancel = timers.after(timeoutGraceMs, () => {
        for (const one of this.running) if (one.context === context) one.giveUp()
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
      hide: end.how === 'answered' && !isOutcome(end.answer) ? [] : hide(),
      chance: ports.randomness.next(),
    }
    const { receipt } = attempt.delivery
    let outcome: Outcome
    let emitted: EmittedParts | undefined
    try {
      const ending = end.how === 'answered' ? endOf(end.answer, work) : end
      outcome = outcomeOf(ending instanceof Promise ? await ending : ending, circumstances)
      if (outcome.kind === 'acknowledge') {
        const drafting = context.emitted(outcome.result)
        emitted = drafting instanceof Promise ? await drafting : drafting
      }
    } catch (error) {
      // The result, or something that the handler sent, does not fit its contract.
      outcome = outcomeOf({ how: 'threw', error }, { ...circumstances, hide: hide() })
    }
    const settle = (settlement: Settlement): Promise<SettleResult> =>
      settler.settle(
        source.setup.name,
        settlement,
        () => !this.#hasGivenUp && keeper.mayLive(lease),
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
        this.#tell(...eventAfter(outcome), attempt)
      } else await this.#tellUnsettled(attempt)
    } catch (error) {
      this.#tell('lost', { error: errorSummary(error) }, attempt)
    }
  }

  /** Somebody may have cancelled the job a moment ago, before its handler could be told. */
  async #tellUnsettled(attempt: Attempt): Promise<void> {
    const { observe, backend } = this.#setup
    if (observe === undefined) return
    const { abortKind, type, id } = attempt.context
    const job = abortKind === undefined && type !== null ? await backend.jobs?.read({ id }) : null
    const isCancelled = abortKind === 'cancelled' || job?.status === 'cancelled'
    this.#tell(isCancelled ? 'cancelled' : 'lost', {}, attempt)
  }

  /** Dead-letters what will never fit, before a handler has met it. */
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
      // Its lease lapses, and whoever receives it next refuses it again.
    }
    observe?.(eventOf('refused', factsOf(source, delivery), { error: reason }))
  }

  #tell(event: WorkerEventName, more: EventDetails, { context, startedMs }: Attempt): void {
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

/** A write of the handler's own that threw is a failure of the handler, with the handler's error. */
function thrownBy(error: MillraceError): unknown {
  return error.code === 'within_failed' && error.cause !== undefined ? error.cause : error
}

/** Of the payload as it was sent, and of what its schema has made of it. */
function valuesToHide({ hidden }: Work, { body }: Delivery, read?: ReadMessage): readonly string[] {
  if (hidden.length === 0) return []
  const message = read?.status === 'read' ? read.message : undefined
  return [...hiddenValues(parsed(body), hidden), ...hiddenValues(message, hidden)]
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  const then = typeof value === 'object' && value !== null && 'then' in value && value.then
  return typeof then === 'function'
}
