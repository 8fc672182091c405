/**
 * A handler that gets several messages or jobs at once: `batch({ size, window }, run)`. Each item keeps its
 * own lease, attempts and outcome.
 */
import { checkRange, describeGiven, type Violations } from '../core/checks.ts'
import { type Duration, durationMs } from '../core/durations.ts'
import { limits } from '../core/limits.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { type OptionNames, refuseUnknownOptions } from '../core/options.ts'
import type { Logger } from '../observability/logger.ts'
import type { HandlerOutcome, HandlerReturn } from './handler-outcome.ts'
import type { JobContext } from './job-context.ts'

export interface BatchOptions {
  /** How many items a batch has at most, 1 to 1,000. */
  readonly size: number
  /**
   * How long a batch waits for further items after its first one, up to 5m. Default: not at all. It then has
   * the items that are ready when the worker claims.
   */
  readonly window?: Duration
}

/** An item of a batch: the context of its own attempt, with the payload. What it emits commits with it. */
export type BatchItem<Payload = unknown, Context = JobContext> = Context & {
  readonly payload: Payload
}

/** What the items of a batch have in common. */
export interface BatchContext<Item = BatchItem> {
  /** The key of the queue. */
  readonly queue: string
  /** The job type; null for messages that are not jobs. */
  readonly type: string | null
  readonly items: readonly Item[]
  /** Aborted with an `AbortReason` when the handler should stop. Each item also has its own signal. */
  readonly signal: AbortSignal
  /** Logs with the queue and the type on every line. Its lines are not kept with the jobs. */
  readonly log: Logger

  /** Adds to a budget at once. The amount counts even if the batch fails. */
  spend(budget: string, amount: number): Promise<void>
}

/** How one item ends: with a result, with an outcome, or with an error if it failed. */
export type ItemEnd<Result> = Result | HandlerOutcome | Error

/**
 * Nothing completes all items. An outcome applies to all. An array has the end of each item, in order; a
 * promise in it that rejects fails its item.
 */
export type BatchReturn<Result> =
  // biome-ignore lint/suspicious/noConfusingVoidType: a function without a return statement completes all items.
  void | HandlerOutcome | readonly (ItemEnd<Result> | Promise<ItemEnd<Result>>)[]

export type BatchRun<Payload, Result, Context> = (
  items: readonly BatchItem<Payload, Context>[],
  context: BatchContext<BatchItem<Payload, Context>>,
) => BatchReturn<Result> | Promise<BatchReturn<Result>>

/** The parts of a batch handler. */
export interface BatchSettings {
  readonly size: number
  readonly windowMs: number
  readonly run: (items: readonly BatchItem[], context: BatchContext) => unknown
}

const optionNames: OptionNames<BatchOptions> = { size: true, window: true }

/** By the functions that `batch` has returned. */
const settings = new WeakMap<object, BatchSettings>()

/**
 * Makes a handler that is called with up to `size` items, at the latest `window` after the first one. Pass it
 * to a worker in place of a function: its type is that of a handler, so that the queue gives the items their
 * types.
 */
export function batch<Payload, Result, Context>(
  options: BatchOptions,
  run: BatchRun<Payload, Result, Context>,
): (payload: Payload, context: Context) => HandlerReturn<Result> {
  refuseUnknownOptions(options, optionNames, 'batch.')
  const { size, window = '0ms' } = options
  const violations: Violations = []
  checkRange(violations, 'batch.size', size, limits.batchSize)
  if (typeof run !== 'function') {
    violations.push({ field: 'batch.run', given: describeGiven(run), allowed: 'a function' })
  }
  if (violations.length > 0) throw MillraceError.invalid(violations)
  const windowMs = durationMs(window, 'batch.window', limits.batchWindowMs)
  // The worker calls it with the items of the queue whose types it was given.
  settings.set(refuseSingle, { size, windowMs, run: run as unknown as BatchSettings['run'] })
  return refuseSingle

  function refuseSingle(): never {
    const message = 'A handler that batch() has made must be passed to a worker as it is.'
    throw new MillraceError('invalid_argument', { message })
  }
}

/** Undefined for a handler of single messages or jobs. */
export function batchOf(handler: object): BatchSettings | undefined {
  return settings.get(handler)
}
