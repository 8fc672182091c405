/**
 * The input of a Lambda runtime: functions, and the queues that invoke them. Names are those of AWS, so the
 * declarations of a template fit unchanged.
 */
import { canonicalJson } from '../../core/canonical-json.ts'

export interface LambdaSet {
  readonly functions: readonly LambdaFunction[]
  readonly eventSources: readonly LambdaEventSource[]
  /** The names of functions that are invoked by something other than a queue. */
  readonly served?: readonly string[]
}

/** The functions that something invokes. Others are not run. */
export function invokedFunctions({
  functions,
  eventSources,
  served = [],
}: LambdaSet): readonly LambdaFunction[] {
  const invoked = new Set([...eventSources.map((source) => source.function), ...served])
  return functions.filter(({ name }) => invoked.has(name))
}

export interface LambdaFunction {
  readonly name: string
  /** A file without its extension, and its export: `src/handlers/grade.handler`. */
  readonly handler: string
  /** The absolute path of the folder that the handler's path is relative to. */
  readonly folder: string
  /** Such as `nodejs24.x`; null if not declared. */
  readonly runtime: string | null
  readonly timeoutMs: number
  readonly memoryMb: number
  readonly environment: Readonly<Record<string, string>>
  /** How many invocations may run at once, from all sources. 0 stops the function. */
  readonly reservedConcurrency: number | null
}

export interface LambdaEventSource {
  /** The name of the queue on the backend. */
  readonly queue: string
  /** The name of the function. */
  readonly function: string
  readonly batchSize: number
  readonly batchingWindowMs: number
  readonly maximumConcurrency: number | null
  readonly reportsBatchItemFailures: boolean
  /** Patterns as JSON values. A message passes if one of them matches, or if there are none. */
  readonly filters: readonly unknown[]
  readonly enabled: boolean
}

/** AWS allows one event source per queue and function, so the pair identifies it. */
export function eventSourceKey({ queue, function: name }: LambdaEventSource): string {
  return `${queue} ${name}`
}

/** Whether two declarations are equivalent. Other fields, such as where it was declared, do not count. */
export function isSameFunction(one: LambdaFunction, other: LambdaFunction): boolean {
  const facts = (it: LambdaFunction): unknown[] => [
    it.name,
    it.handler,
    it.folder,
    it.runtime,
    it.timeoutMs,
    it.memoryMb,
    it.environment,
    it.reservedConcurrency,
  ]
  return isSame(facts(one), facts(other))
}

export function isSameEventSource(one: LambdaEventSource, other: LambdaEventSource): boolean {
  const facts = (it: LambdaEventSource): unknown[] => [
    it.queue,
    it.function,
    it.batchSize,
    it.batchingWindowMs,
    it.maximumConcurrency,
    it.reportsBatchItemFailures,
    it.filters,
    it.enabled,
  ]
  return isSame(facts(one), facts(other))
}

function isSame(one: readonly unknown[], other: readonly unknown[]): boolean {
  return canonicalJson(JSON.stringify(one)) === canonicalJson(JSON.stringify(other))
}

const nodeRuntime = /^nodejs(\d+)\.x$/

/** Whether functions of this runtime can be run: Node, or no declared runtime. */
export function isNodeRuntime(runtime: string | null): boolean {
  return runtime === null || nodeRuntime.test(runtime)
}

/** From Node 24 on, AWS supports neither callbacks nor older ways to respond. */
export function hasCallbacks(runtime: string | null): boolean {
  const [, major] = nodeRuntime.exec(runtime ?? '') ?? []
  return major === undefined || Number(major) < 24
}
