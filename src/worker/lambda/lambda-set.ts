/**
 * What a Lambda runtime is given to run: functions, and the queues that feed them. The words are those
 * of AWS; what a template declares fits as it is.
 */
import { canonicalJson } from '../../core/canonical-json.ts'

export interface LambdaSet {
  readonly functions: readonly LambdaFunction[]
  readonly eventSources: readonly LambdaEventSource[]
}

export interface LambdaFunction {
  readonly name: string
  /** A file without its ending, and what it exports: `src/handlers/grade.handler`. */
  readonly handler: string
  /** Absolute: the folder that the handler's path is relative to. */
  readonly folder: string
  /** `nodejs24.x`; null where nobody said. */
  readonly runtime: string | null
  readonly timeoutMs: number
  readonly memoryMb: number
  readonly environment: Readonly<Record<string, string>>
  /** How many invocations may run at once, whatever feeds them. 0 stops the function. */
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
  /** Patterns as JSON values; a message passes when one of them matches. Empty: all pass. */
  readonly filters: readonly unknown[]
  readonly enabled: boolean
}

/** AWS allows one event source for each pair, so the pair names it. */
export function eventSourceKey({ queue, function: name }: LambdaEventSource): string {
  return `${queue} ${name}`
}

/** Whether two declarations mean the same. Other fields, such as where it was declared, do not count. */
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

/** Whether functions of this runtime can be run: Node's, and those that do not say. */
export function isNodeRuntime(runtime: string | null): boolean {
  return runtime === null || nodeRuntime.test(runtime)
}

/** From Node 24 on, AWS runs no callbacks and nothing that came before them. */
export function hasCallbacks(runtime: string | null): boolean {
  const [, major] = nodeRuntime.exec(runtime ?? '') ?? []
  return major === undefined || Number(major) < 24
}
