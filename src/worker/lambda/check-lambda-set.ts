/** Checks functions and event sources by the rules of AWS. */
import { isAbsolute } from 'node:path'
import { isFifoName } from '../../core/check-queue.ts'
import { checkLength, checkRange, type Violations } from '../../core/checks.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import { compileFilters } from './event-filter.ts'
import { isHandlerName } from './handler-file.ts'
import {
  eventSourceKey,
  invokedFunctions,
  isNodeRuntime,
  type LambdaEventSource,
  type LambdaFunction,
  type LambdaSet,
} from './lambda-set.ts'

const lambdaLimits = {
  batchSize: { min: 1, max: 10_000, unit: 'messages' },
  fifoBatchSize: { min: 1, max: 10, unit: 'messages from a FIFO queue' },
  batchingWindowMs: { min: 0, max: 300_000, unit: 'ms' },
  maximumConcurrency: { min: 2, max: 1_000, unit: 'invocations' },
  reservedConcurrency: { min: 0, max: 1_000, unit: 'invocations' },
  timeoutMs: { min: 1_000, max: 900_000, unit: 'ms' },
  memoryMb: { min: 128, max: 10_240, unit: 'MB' },
  functionNameLength: { min: 1, max: 64, unit: 'characters' },
} as const

/** AWS allows five by default, ten on request. */
const filtersMax = 10

/** A batch of more than one receive needs a batching window. */
const batchSizeWithoutWindow = 10
const windowMsOfLargeBatches = 1_000

/** Refuses what AWS would refuse, all in one error. Functions that nothing invokes are not checked. */
export function checkLambdaSet(set: LambdaSet): void {
  const { functions, eventSources } = set
  const violations: Violations = []
  for (const one of invokedFunctions(set)) {
    refuseOtherRuntimes(one)
    checkFunction(violations, one)
  }
  const names = new Set(functions.map(({ name }) => name))
  const keys = new Set<string>()
  for (const source of eventSources) {
    const field = `event source of ${source.queue}`
    if (!names.has(source.function)) {
      const allowed = 'the name of a function of the same set'
      violations.push({ field: `${field}: function`, given: `'${source.function}'`, allowed })
    }
    const key = eventSourceKey(source)
    if (keys.has(key)) {
      const allowed = 'one event source for each queue and function'
      violations.push({ field, given: `a second one for ${source.function}`, allowed })
    }
    keys.add(key)
    checkEventSource(violations, field, source)
  }
  if (violations.length > 0) throw MillraceError.invalid(violations)
}

function refuseOtherRuntimes({ name, runtime }: LambdaFunction): void {
  if (isNodeRuntime(runtime)) return
  throw new MillraceError('unsupported', {
    message: `${name} has the runtime ${runtime}. Only Node runtimes such as nodejs22.x are supported.`,
  })
}

function checkFunction(into: Violations, one: LambdaFunction): void {
  const field = `function ${one.name}`
  checkLength(into, `${field}: name`, one.name, lambdaLimits.functionNameLength)
  checkRange(into, `${field}: timeout`, one.timeoutMs, lambdaLimits.timeoutMs)
  checkRange(into, `${field}: memory`, one.memoryMb, lambdaLimits.memoryMb)
  if (one.reservedConcurrency !== null) {
    const range = lambdaLimits.reservedConcurrency
    checkRange(into, `${field}: reserved concurrency`, one.reservedConcurrency, range)
  }
  if (!isHandlerName(one.handler)) {
    const allowed =
      "a file without its extension, a dot and an export, without '..', such as src/index.handler"
    into.push({ field: `${field}: handler`, given: `'${one.handler}'`, allowed })
  }
  if (!isAbsolute(one.folder)) {
    into.push({ field: `${field}: folder`, given: `'${one.folder}'`, allowed: 'an absolute path' })
  }
}

function checkEventSource(into: Violations, field: string, source: LambdaEventSource): void {
  const { batchSize, batchingWindowMs, maximumConcurrency, filters } = source
  const isFifo = isFifoName(source.queue)
  const sizes = isFifo ? lambdaLimits.fifoBatchSize : lambdaLimits.batchSize
  checkRange(into, `${field}: batch size`, batchSize, sizes)
  checkRange(into, `${field}: batching window`, batchingWindowMs, lambdaLimits.batchingWindowMs)
  if (isFifo && batchingWindowMs > 0) {
    const allowed = '0: a FIFO queue has no batching window'
    into.push({ field: `${field}: batching window`, given: `${batchingWindowMs} ms`, allowed })
  }
  const isLarge = !isFifo && batchSize > batchSizeWithoutWindow
  if (isLarge && batchingWindowMs < windowMsOfLargeBatches) {
    const allowed = `at least ${windowMsOfLargeBatches} ms when a batch has more than ${batchSizeWithoutWindow} messages`
    into.push({ field: `${field}: batching window`, given: `${batchingWindowMs} ms`, allowed })
  }
  if (maximumConcurrency !== null) {
    const range = lambdaLimits.maximumConcurrency
    checkRange(into, `${field}: maximum concurrency`, maximumConcurrency, range)
  }
  if (filters.length > filtersMax) {
    const allowed = `at most ${filtersMax}`
    into.push({ field: `${field}: filters`, given: `${filters.length} filters`, allowed })
  }
  compileFilters(into, `${field}: filters`, filters)
}
