/**
 * Makes the handler of a Lambda function from handlers of single messages. It decodes and checks each record,
 * runs the records in the order of the queue, and returns those that failed. With a store, handlers also get
 * what a worker offers: jobs, flows, collectors, budgets, and effects that commit together.
 */
import { isTriggersQueue } from '../contracts/collector-declaration.ts'
import type { App } from '../contracts/define-app.ts'
import { declaredRunOf, isJobsQueue } from '../contracts/jobs-declaration.ts'
import { isRecord } from '../contracts/setting-checks.ts'
import { checkRange, describeGiven, type Violations } from '../core/checks.ts'
import { didYouMean } from '../core/did-you-mean.ts'
import { type Duration, durationMs } from '../core/durations.ts'
import { limits } from '../core/limits.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { type OptionNames, refuseUnknownOptions } from '../core/options.ts'
import { type Ports, systemPorts } from '../core/ports.ts'
import type { FailedRecord } from './failed-record.ts'
import type {
  FunctionHandlers,
  FunctionStore,
  HandlersByType,
  QueueKey,
  StoreHandlers,
  UntypedFunctionHandler,
} from './function-types.ts'
import type { LambdaContext, SqsBatch, SqsBatchFailures } from './sqs-batch.ts'

export interface LambdaHandlerOptions {
  /** How many records of a batch run at once; on a FIFO queue, how many groups. Default 10. */
  readonly concurrency?: number
  /**
   * How long before the function times out its handlers are asked to stop. Records that have not ended by
   * then are reported as failed. Default 1s.
   */
  readonly stopBefore?: Duration
  /** Called with each record that failed. Default: prints it with `console.error`, without its body. */
  readonly onFailure?: (failure: FailedRecord) => void
  /** Timers. Default: those of the system. */
  readonly ports?: Pick<Ports, 'timers'>
}

export interface StoreHandlerOptions extends LambdaHandlerOptions {
  /** The store of the app. `true`: the one in MILLRACE_STORE or MILLRACE_DATA, which `millrace dev` sets. */
  readonly store: true | FunctionStore
}

/** The handler of a function whose event source has the response type `ReportBatchItemFailures`. */
export type LambdaHandler = (event: SqsBatch, context: LambdaContext) => Promise<SqsBatchFailures>

const optionNames: OptionNames<StoreHandlerOptions> = {
  concurrency: true,
  stopBefore: true,
  onFailure: true,
  ports: true,
  store: true,
}

/** Lambda's own limit is 15 minutes. */
const stopBeforeRange = { min: 0, max: 900_000 }

export function lambdaHandler<const Opened extends App, const Key extends QueueKey<Opened>>(
  app: Opened,
  queue: Key,
  handlers: StoreHandlers<Opened, Key>,
  options: StoreHandlerOptions,
): LambdaHandler
export function lambdaHandler<const Opened extends App, const Key extends QueueKey<Opened>>(
  app: Opened,
  queue: Key,
  handlers: FunctionHandlers<Opened, Key>,
  options?: LambdaHandlerOptions & { readonly store?: undefined },
): LambdaHandler
export function lambdaHandler(
  app: App,
  key: string,
  handlers: unknown,
  options: LambdaHandlerOptions & { readonly store?: true | FunctionStore | undefined } = {},
): LambdaHandler {
  refuseUnknownOptions(options, optionNames)
  const { store, onFailure, concurrency = 10, stopBefore = '1s', ports = systemPorts } = options
  const byType = checkedHandlers(app, key, handlers, store !== undefined)
  const violations: Violations = []
  checkRange(violations, 'concurrency', concurrency, limits.concurrency)
  if (violations.length > 0) throw MillraceError.invalid(violations)
  const stopBeforeMs = durationMs(stopBefore, 'stopBefore', stopBeforeRange)
  // Loaded while the function starts, and only by programs that make functions.
  const loading = import('./function-batches.ts').then(({ functionBatches }) =>
    functionBatches({
      app,
      key,
      handlers: byType,
      store,
      concurrency,
      stopBeforeMs,
      ports,
      onFailure,
    }),
  )
  return async (event, context) => (await loading)(event, context)
}

/** Handlers may come from plain JavaScript, so nothing is assumed about them. */
function checkedHandlers(
  app: App,
  key: string,
  handlers: unknown,
  hasStore: boolean,
): HandlersByType {
  const declared = Object.hasOwn(app.queues, key) ? app.queues[key] : undefined
  if (declared === undefined) {
    const allowed = `the key of a declared queue${didYouMean(key, Object.keys(app.queues))}`
    throw MillraceError.invalid([{ field: 'queue', given: describeGiven(key), allowed }])
  }
  if (isTriggersQueue(declared)) {
    if (hasStore && (handlers === null || handlers === undefined)) return new Map()
    const allowed = 'null and a store: the triggers of a collector have their own handler'
    throw MillraceError.invalid([{ field: 'handler', given: describeGiven(handlers), allowed }])
  }
  if (!isJobsQueue(declared)) return new Map([['', checkedHandler('handler', handlers)]])
  const byType = isRecord(handlers) ? handlers : {}
  const names = Object.keys(declared.options.types)
  refuseUnknownOptions(byType, Object.fromEntries(names.map((name) => [name, true])), 'handlers.')
  // With a store, a type may have declared its own handler.
  const needed = names.filter(
    (name) => byType[name] !== undefined || !(hasStore && declaredRunOf(declared, name)),
  )
  return new Map(needed.map((name) => [name, checkedHandler(`handlers.${name}`, byType[name])]))
}

function checkedHandler(field: string, handler: unknown): UntypedFunctionHandler {
  if (typeof handler === 'function') return handler as UntypedFunctionHandler // what it takes cannot be known
  throw MillraceError.invalid([{ field, given: describeGiven(handler), allowed: 'a function' }])
}
