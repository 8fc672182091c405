/** Builds one stack from evaluated templates: its queues, functions, event sources and alarms. */
import { alarmType, readAlarm } from './alarm-reader.ts'
import { mustExist, orderQueues, type PlacedQueue } from './check-stack.ts'
import type { Evaluator } from './evaluator.ts'
import { eventSourceType, readEventSource } from './event-source-reader.ts'
import { type Environment, readFunction } from './function-reader.ts'
import { valueAt } from './node.ts'
import type { Problems } from './problems.ts'
import { policyTypes, readPolicy, readQueue } from './queue-reader.ts'
import { functionType, queueType } from './references.ts'
import { readRoute, routeType } from './route-reader.ts'
import type { Stack, StackAlarm, StackEventSource, StackFunction, StackQueue } from './stack.ts'
import type { Resource } from './template.ts'

export interface StackOptions {
  readonly problems: Problems
  readonly environment: Environment
}

export function readStack(
  evaluators: readonly Evaluator[],
  { problems, environment }: StackOptions,
): Stack {
  const queues = orderQueues(evaluators.flatMap(readQueues), problems)
  const known = new Set(queues.map(({ name }) => name))
  const sources = evaluators.flatMap((evaluator) =>
    readAll(evaluator, eventSourceType, readEventSource),
  )
  const routes = evaluators.flatMap((evaluator) => readAll(evaluator, routeType, readRoute))
  const fed = new Set(sources.map((source) => source.function))
  const served = new Set(routes.map((route) => route.function))
  const functions = evaluators.flatMap((evaluator) =>
    readAll(evaluator, functionType, (_, resource) => {
      const read = (): StackFunction | undefined => readFunction(evaluator, resource, environment)
      if (isOneOf(fed, evaluator, resource)) return read()
      // Its queues must come up, also if a function that only serves HTTP cannot.
      if (isOneOf(served, evaluator, resource)) return evaluator.problems.leniently(read)
      // Any other function is not run here, so its problems are not reported.
      return evaluator.problems.quietly(read)
    }),
  )
  const alarms = evaluators.flatMap((evaluator) => readAll(evaluator, alarmType, readAlarm))
  return {
    name: evaluators.map(({ template }) => template.stackName).join(' + '),
    queues,
    functions,
    eventSources: connected(evaluators, { sources, functions, known }, problems),
    routes: routes.filter((route) => functions.some(({ name }) => name === route.function)),
    alarms: watching(alarms, known, problems),
  }
}

function readQueues(evaluator: Evaluator): readonly PlacedQueue[] {
  const policies = policyTypes.flatMap((type) => readAll(evaluator, type, readPolicy).flat())
  return readAll(evaluator, queueType, (_, resource) => {
    const queue = readQueue(evaluator, resource)
    if (queue === undefined) return undefined
    const policy = policies.findLast((one) => one.queue === queue.name)
    return {
      queue: policy === undefined ? queue : withPolicy(queue, policy.document),
      origin: resource,
      deadLetterAt: valueAt(resource.properties, 'RedrivePolicy') ?? resource,
    }
  })
}

function withPolicy(queue: StackQueue, document: string): StackQueue {
  const annotations = { ...queue.settings.annotations, Policy: document }
  return { ...queue, settings: { ...queue.settings, annotations } }
}

/** Reads all existing resources of a type. */
function readAll<Value>(
  evaluator: Evaluator,
  type: string,
  read: (evaluator: Evaluator, resource: Resource) => Value | undefined,
): readonly Value[] {
  return [...evaluator.template.resources.values()]
    .filter((resource) => resource.type === type && evaluator.exists(resource))
    .flatMap((resource) => {
      const value = read(evaluator, resource)
      return value === undefined ? [] : [value]
    })
}

function isOneOf(names: ReadonlySet<string>, evaluator: Evaluator, resource: Resource): boolean {
  const name = evaluator.problems.quietly(() => evaluator.nameOf(resource))
  return name.kind === 'scalar' && names.has(name.text)
}

interface Ends {
  readonly sources: readonly StackEventSource[]
  readonly functions: readonly StackFunction[]
  readonly known: ReadonlySet<string>
}

/** Event sources whose function runs here. Queues outside the template are accepted. */
function connected(
  evaluators: readonly Evaluator[],
  { sources, functions, known }: Ends,
  problems: Problems,
): readonly StackEventSource[] {
  const running = new Set(functions.map(({ name }) => name))
  const declared = new Set(evaluators.flatMap(declaredFunctions))
  return sources.filter((source) => {
    const origin = { at: source.at, path: `Resources.${source.logicalId}` }
    if (!running.has(source.function)) {
      // A declared function that does not run here was already reported.
      if (!declared.has(source.function)) {
        problems.warning(
          origin,
          `The template has no function '${source.function}', so the event source is ignored.`,
        )
      }
      return false
    }
    if (!known.has(source.queue)) problems.warning(origin, mustExist(source.queue))
    return true
  })
}

function declaredFunctions(evaluator: Evaluator): readonly string[] {
  return readAll(evaluator, functionType, (_, resource) => {
    const name = evaluator.problems.quietly(() => evaluator.nameOf(resource))
    return name.kind === 'scalar' ? name.text : undefined
  })
}

function watching(
  alarms: readonly StackAlarm[],
  known: ReadonlySet<string>,
  problems: Problems,
): readonly StackAlarm[] {
  for (const { queue, logicalId, at } of alarms) {
    if (!known.has(queue)) {
      problems.warning({ at, path: `Resources.${logicalId}` }, mustExist(queue))
    }
  }
  return alarms
}
