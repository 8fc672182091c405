/**
 * Runs a batch from the end of its window to its settlement. Each item has its own attempt, lease and
 * outcome. The handler is called once, and all items are settled in one commit.
 */
import type { BatchSettings } from '../contracts/batch-handler.ts'
import { errorSummary } from '../core/error-summary.ts'
import { isThenable } from '../core/is-thenable.ts'
import type { Traces } from '../observability/traces.ts'
import type { Attempt, Attempts, AttemptsSetup, Decision, Hide, Opened } from './attempts.ts'
import { BatchAttemptContext } from './batch-context.ts'
import { itemEnds, withoutPromises } from './batch-end.ts'
import { type BatchTrace, traceBatch } from './batch-trace.ts'
import { behindFailed } from './behind-failed.ts'
import type { Claimed } from './claims-ahead.ts'
import type { HandlerEnd } from './handler-end.ts'
import type { HeldLease } from './lease-keeper.ts'
import { type Middleware, withMiddleware } from './middleware.ts'
import type { RunningHandlers } from './running-handlers.ts'

export interface BatchRunnerSetup extends Pick<AttemptsSetup, 'context' | 'keeper' | 'settler'> {
  readonly layers: readonly Middleware[]
  readonly traces: Traces | undefined
  readonly attempts: Attempts
  readonly running: RunningHandlers
  /** Releases an item that is not handled in this batch, and ends it. */
  readonly release: (claimed: Claimed) => Promise<void>
  /** Called once for each item, when it is settled or lost. */
  readonly onEnded: (lease: HeldLease) => void
}

/** An attempt of the batch, and how it ended. */
interface Ended {
  readonly attempt: Attempt
  readonly end: HandlerEnd
}

interface Sorted {
  /** Those that the handler gets. */
  readonly handled: readonly Attempt[]
  /** Those whose schema failed. */
  readonly unread: readonly Ended[]
  /** Resolves when all others are settled. */
  readonly others: Promise<unknown>
}

export class BatchRunner {
  readonly #setup: BatchRunnerSetup

  constructor(setup: BatchRunnerSetup) {
    this.#setup = setup
  }

  /** Calls `onFreed` when the handler has ended; repeated calls have no effect. Resolves when all is settled. */
  run(items: readonly Claimed[], onFreed: () => void): Promise<void> {
    const { traces } = this.#setup
    if (traces === undefined) return this.#run(items, onFreed)
    return traceBatch(traces, items, (trace) => this.#run(items, trace.detached(onFreed), trace))
  }

  async #run(items: readonly Claimed[], onFreed: () => void, trace?: BatchTrace): Promise<void> {
    try {
      const hidden: Hide[] = []
      let all: readonly string[] | undefined
      // An error or a line of one item may quote any other.
      const hide: Hide = () => {
        all ??= hidden.flatMap((own) => own())
        return all
      }
      const { handled, unread, others } = await this.#open(items, (own) => {
        hidden.push(own)
        return hide
      })
      const end = await this.#handle(handled, hide)
      onFreed()
      if (end.how === 'threw') trace?.threw(end.error, errorSummary(end.error, hide()))
      const ends = itemEnds(end, handled.length)
      const ended = handled.map((attempt, index) => ({ attempt, end: ends[index] ?? end }))
      await Promise.all([this.#settle([...unread, ...ended], trace), others])
    } finally {
      onFreed()
      trace?.end()
    }
  }

  async #open(items: readonly Claimed[], widen: (own: Hide) => Hide): Promise<Sorted> {
    const { attempts } = this.#setup
    const opened = await Promise.all(
      items.map(async (claimed) => {
        const one = await attempts.open(claimed, undefined, widen)
        return { claimed, group: claimed.delivery.group, opened: one }
      }),
    )
    const isFifo = items[0]?.source.isFifo === true
    const behind = isFifo ? behindFailed(opened, (one) => this.#isStopped(one.opened)) : noItems
    const handled: Attempt[] = []
    const unread: Ended[] = []
    const others: Promise<void>[] = []
    for (const one of opened) {
      if (behind.has(one)) others.push(this.#setup.release(one.claimed))
      else others.push(...this.#sort(one.claimed, one.opened, handled, unread))
    }
    return { handled, unread, others: Promise.all(others) }
  }

  /** Whether the messages behind it in its group must wait. */
  #isStopped(opened: Opened): boolean {
    if (opened.kind !== 'attempt') return opened.kind === 'lost'
    return opened.unread !== undefined || this.#hasLostLease(opened)
  }

  /** A lease may have been lost while other items were opened. */
  #hasLostLease({ context, lease }: Attempt): boolean {
    return context.abortKind !== undefined || !this.#setup.keeper.mayLive(lease)
  }

  #sort(
    { lease }: Claimed,
    opened: Opened,
    handled: Attempt[],
    unread: Ended[],
  ): readonly Promise<void>[] {
    const { attempts, onEnded } = this.#setup
    if (opened.kind === 'refusal') {
      return [attempts.refuse(opened).finally(() => onEnded(lease))]
    }
    if (opened.kind === 'lost' || this.#hasLostLease(opened)) {
      if (opened.kind === 'attempt') attempts.lost(opened.context, undefined)
      onEnded(lease)
      return []
    }
    attempts.started(opened)
    if (opened.unread === undefined) handled.push(opened)
    else unread.push({ attempt: opened, end: opened.unread })
    return []
  }

  #handle(attempts: readonly Attempt[], hide: Hide): HandlerEnd | Promise<HandlerEnd> {
    const [first] = attempts
    if (first?.work.batch === undefined) return { how: 'returned', value: undefined }
    const { batch, timeoutMs } = first.work
    const { layers, running, context: shared } = this.#setup
    const items = attempts.map(({ context }) => context)
    const { queue, type } = first.context
    const context = new BatchAttemptContext(shared, { queue, type, items, hide })
    const callHandler = (): unknown => calledWith(batch, context)
    let returned: unknown
    try {
      returned = layers.length === 0 ? callHandler() : withMiddleware(layers, callHandler)(context)
    } catch (error) {
      return { how: 'threw', error }
    }
    return isThenable(returned)
      ? running.wait(context, timeoutMs, returned)
      : { how: 'returned', value: returned }
  }

  async #settle(ended: readonly Ended[], trace: BatchTrace | undefined): Promise<void> {
    const { attempts, settler, onEnded } = this.#setup
    const [first] = ended
    if (first === undefined) return
    const { source } = first.attempt
    try {
      const decided = await Promise.all(
        ended.map(async ({ attempt, end }) => ({
          attempt,
          decision: await attempts.decide(attempt, end),
        })),
      )
      const decisions = source.isFifo ? inOrder(decided) : decided
      const settlements = decisions.map(({ attempt, decision }) =>
        attempts.settlementOf(attempt, decision),
      )
      const settle = (): ReturnType<typeof settler.settleTogether> =>
        settler.settleTogether(source.setup.name, settlements, (index) => {
          const one = decisions[index]
          return one !== undefined && attempts.isWorthwhile(one.attempt)
        })
      const results = trace === undefined ? settle() : trace.settle(settlements.length, settle)
      await Promise.all(
        decisions.map(async ({ attempt, decision }, index) => {
          const result = results[index]
          if (result !== undefined) await attempts.conclude(attempt, decision, result)
        }),
      )
    } finally {
      for (const { attempt } of ended) onEnded(attempt.lease)
    }
  }
}

const noItems: ReadonlySet<unknown> = new Set()

function calledWith({ run }: BatchSettings, context: BatchAttemptContext): unknown {
  const returned = run(context.items, context)
  return isThenable(returned)
    ? Promise.resolve(returned).then(withoutPromises)
    : withoutPromises(returned)
}

interface Decided {
  readonly attempt: Attempt
  readonly decision: Decision
}

/** Releases the items behind one that will be retried, in the same group of a FIFO queue. */
function inOrder(decided: readonly Decided[]): readonly Decided[] {
  const grouped = decided.map((one) => ({ ...one, group: one.attempt.delivery.group }))
  const behind = behindFailed(grouped, ({ decision: { outcome }, attempt: { lease } }) => {
    return outcome.kind === 'retry' || outcome.kind === 'release' || lease.loss !== undefined
  })
  return grouped.map((one) => {
    if (!behind.has(one)) return one
    const { attempt, decision } = one
    const released = { outcome: { kind: 'release' }, cause: undefined, emitted: undefined } as const
    return { attempt, decision: { ...decision, ...released } }
  })
}
