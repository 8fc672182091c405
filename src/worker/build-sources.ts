/** Turns the options of a worker into its sources. Reports all mistakes in one error. */
import { isTriggersQueue } from '../contracts/collector-declaration.ts'
import { declaredRunOf, isJobsQueue } from '../contracts/jobs-declaration.ts'
import type { NamedQueue } from '../contracts/resolve-names.ts'
import type { ResolvedQueues } from '../contracts/resolve-queues.ts'
import { checkKeys, isRecord } from '../contracts/setting-checks.ts'
import { checkRange, describeGiven, type Violations } from '../core/checks.ts'
import { didYouMean } from '../core/did-you-mean.ts'
import { formatDuration } from '../core/durations.ts'
import { limits } from '../core/limits.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { Source, type SourceHandler, type SourceSetup } from './source.ts'
import type { UntypedWorkerOptions } from './worker-options.ts'

/** A shorter lease would expire before it could be renewed. */
const leaseMsMin = 100

const optionNames: readonly string[] = [
  'poll',
  'handle',
  'concurrency',
  'queueConcurrency',
  'use',
  'stopTimeout',
  'onEvent',
]

export interface SourcesSetup {
  readonly resolved: ResolvedQueues
  readonly options: UntypedWorkerOptions
  readonly concurrency: number
  /** The handlers of triggers, by the keys of their queues. */
  readonly triggers: ReadonlyMap<string, SourceHandler>
}

/** Options may come from plain JavaScript, so nothing is assumed about them. */
export function buildSources(setup: SourcesSetup): readonly Source[] {
  const { resolved, options } = setup
  const violations: Violations = []
  checkOptions(violations, setup)
  const weights = weightsOf(options.poll)
  const handlers = isRecord(options.handle) ? options.handle : {}
  const used = new Set<string>()
  const handled = resolved.queues.filter(({ key }) => !setup.triggers.has(key))
  const known = new Set(handled.flatMap(handlerNames))
  const sources: Source[] = []
  for (const [key, weight] of weights) {
    checkRange(violations, `poll.${key}`, weight, limits.pollWeight)
    const queue = resolved.queues.find((one) => one.key === key)
    if (queue === undefined) {
      const keys = resolved.queues.map((one) => one.key)
      const allowed = `the key of a declared queue${didYouMean(key, keys)}`
      violations.push({ field: 'poll', given: describeGiven(key), allowed })
      continue
    }
    const own = isTriggersQueue(queue.declared) ? setup.triggers.get(key) : undefined
    const found =
      own === undefined ? handlersOf(queue, handlers, used, violations) : new Map([['', own]])
    sources.push(sourceOf(setup, queue, { weight, handlers: found }, violations))
  }
  for (const [name, handler] of Object.entries(handlers)) {
    if (used.has(name)) continue
    checkUnused(violations, name, handler, known)
  }
  for (const key of Object.keys(options.queueConcurrency ?? {})) {
    if (weights.has(key)) continue
    const allowed = `a queue that is polled${didYouMean(key, [...weights.keys()])}`
    violations.push({ field: `queueConcurrency.${key}`, given: 'a number', allowed })
  }
  if (violations.length > 0) throw MillraceError.invalid(violations)
  return sources
}

function checkOptions(into: Violations, { options, concurrency }: SourcesSetup): void {
  checkKeys(into, '', { ...options }, optionNames)
  checkRange(into, 'concurrency', concurrency, limits.concurrency)
  const { handle, queueConcurrency, use, onEvent } = options
  if (weightsOf(options.poll).size === 0) {
    const given = isRecord(options.poll) || Array.isArray(options.poll) ? 'no queue' : undefined
    const allowed = "at least one queue, such as ['basic'] or { basic: 3, lite: 1 }"
    into.push({ field: 'poll', given: given ?? describeGiven(options.poll), allowed })
  }
  if (!isRecord(handle)) {
    const allowed = 'an object of functions, by job type or key of a plain queue'
    into.push({ field: 'handle', given: describeGiven(handle), allowed })
  }
  if (queueConcurrency !== undefined && !isRecord(queueConcurrency)) {
    const allowed = 'an object such as { lite: 1 }'
    into.push({ field: 'queueConcurrency', given: describeGiven(queueConcurrency), allowed })
  }
  const layers: unknown = use ?? []
  if (!Array.isArray(layers) || layers.some((layer) => typeof layer !== 'function')) {
    into.push({ field: 'use', given: describeGiven(use), allowed: 'an array of functions' })
  }
  if (onEvent !== undefined && typeof onEvent !== 'function') {
    into.push({ field: 'onEvent', given: describeGiven(onEvent), allowed: 'a function' })
  }
}

function weightsOf(poll: UntypedWorkerOptions['poll']): ReadonlyMap<string, number> {
  if (Array.isArray(poll)) return new Map(poll.map((key) => [String(key), 1]))
  return new Map(isRecord(poll) ? Object.entries(poll as Readonly<Record<string, number>>) : [])
}

/** The names of a queue's handlers: its job types, or its key. */
function handlerNames({ key, declared }: NamedQueue): readonly string[] {
  return isJobsQueue(declared) ? Object.keys(declared.options.types) : [key]
}

/** Workers may share one object of handlers, so handlers of other queues are ignored. */
function checkUnused(
  into: Violations,
  name: string,
  handler: unknown,
  known: ReadonlySet<string>,
): void {
  const field = `handle.${name}`
  if (!known.has(name)) {
    const allowed = `a job type or the key of a plain queue of the app${didYouMean(name, [...known])}`
    into.push({ field, given: 'a handler', allowed })
  } else if (handler !== undefined && typeof handler !== 'function') {
    into.push({ field, given: describeGiven(handler), allowed: 'a function' })
  }
}

/** The handlers of one queue by job type. The handler of plain messages has an empty name. */
function handlersOf(
  queue: NamedQueue,
  handle: UntypedWorkerOptions['handle'],
  used: Set<string>,
  into: Violations,
): ReadonlyMap<string, SourceHandler> {
  const { key, declared } = queue
  const found = new Map<string, SourceHandler>()
  for (const name of handlerNames(queue)) {
    used.add(name)
    const given = Object.hasOwn(handle, name) ? handle[name] : undefined
    // Its payload type is the output of its schema, and the worker validates the payload.
    const own = isJobsQueue(declared) ? (declaredRunOf(declared, name) as SourceHandler) : undefined
    const handler = given ?? own
    if (typeof handler === 'function') {
      found.set(isJobsQueue(declared) ? name : '', handler)
    } else {
      const allowed = `a function: the queue '${key}' is polled`
      into.push({ field: `handle.${name}`, given: describeGiven(handler), allowed })
    }
  }
  return found
}

function sourceOf(
  { resolved, options, concurrency }: SourcesSetup,
  { key, name, declared }: NamedQueue,
  chosen: Pick<SourceSetup, 'weight' | 'handlers'>,
  into: Violations,
): Source {
  const own = options.queueConcurrency?.[key]
  if (own !== undefined) checkRange(into, `queueConcurrency.${key}`, own, limits.concurrency)
  const settings = resolved.planned.find(({ queue }) => queue === name)?.settings
  const visibilityMs = settings?.visibilityMs ?? 0
  if (visibilityMs < leaseMsMin) {
    const given = `a visibility timeout of ${formatDuration(visibilityMs)}`
    const allowed = `at least ${formatDuration(leaseMsMin)}, so that the worker can renew its leases`
    into.push({ field: `poll.${key}`, given, allowed })
  }
  return new Source({
    key,
    name,
    declared,
    ...chosen,
    concurrency: Math.min(concurrency, own ?? concurrency),
    visibilityMs,
    maxReceives: settings?.deadLetter?.maxReceives ?? null,
  })
}
