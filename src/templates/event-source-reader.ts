/** Reads event sources from queues to functions: `AWS::Lambda::EventSourceMapping`. */
import { parseJsonObject } from '../sqs/json-object.ts'
import { parseArn } from '../sqs/queue-address.ts'
import type { Evaluator } from './evaluator.ts'
import { functionNameIn } from './function-reader.ts'
import { type Node, stringOf } from './node.ts'
import { PropertyReader } from './property-reader.ts'
import type { StackEventSource } from './stack.ts'
import type { Resource } from './template.ts'
import { jsonOf } from './texts.ts'

export const eventSourceType = 'AWS::Lambda::EventSourceMapping'

const batchSize = { min: 1, max: 10_000, unit: 'messages' }
const windowSeconds = { min: 0, max: 300, unit: 'seconds' }
const concurrency = { min: 2, max: 1_000, unit: 'at once' }

/** Properties of sources other than queues. */
const foreignProperties = ['StartingPosition', 'Queues', 'SelfManagedEventSource']

export function readEventSource(
  evaluator: Evaluator,
  resource: Resource,
): StackEventSource | undefined {
  const reader = new PropertyReader(evaluator, resource.properties, resource)
  if (foreignProperties.some((name) => reader.has(name))) return undefined
  const queue = queueIn(reader)
  if (queue === null) return undefined
  const target = reader.text('FunctionName')
  const scaling = reader.document('ScalingConfig')
  const size = reader.wholeNumber('BatchSize', batchSize) ?? 10
  const window = reader.wholeNumber('MaximumBatchingWindowInSeconds', windowSeconds) ?? 0
  const filters = readFilters(reader)
  if (queue === undefined || target === undefined) return undefined
  return {
    logicalId: resource.logicalId,
    queue,
    function: functionNameIn(target),
    batchSize: size,
    batchingWindowMs: window * 1_000,
    maximumConcurrency: scaling?.wholeNumber('MaximumConcurrency', concurrency) ?? null,
    reportsBatchItemFailures: reportsFailures(reader),
    filters,
    enabled: reader.flag('Enabled') ?? true,
    at: resource.at,
  }
}

/** Returns null for the ARN of another resource, and undefined if a problem was reported. */
function queueIn(reader: PropertyReader): string | null | undefined {
  const arn = reader.text('EventSourceArn')
  if (arn === undefined) {
    if (!reader.has('EventSourceArn')) {
      reader.refuse('EventSourceArn', 'An event source needs the ARN of its queue.')
    }
    return undefined
  }
  const address = parseArn(arn)
  if (address !== undefined) return address.name
  if (/^arn:[^:]*:(?!sqs:)[^:]+:/.test(arn)) return null
  reader.refuse('EventSourceArn', 'EventSourceArn must be the ARN of a queue.')
  return undefined
}

function reportsFailures(reader: PropertyReader): boolean {
  const types = reader.list('FunctionResponseTypes') ?? []
  return types.some((type) => stringOf(type) === 'ReportBatchItemFailures')
}

function readFilters(reader: PropertyReader): readonly unknown[] {
  const criteria = reader.document('FilterCriteria')
  const filters = criteria?.list('Filters') ?? []
  return filters.flatMap((filter) => {
    const entry = reader.inside(filter)
    const pattern = entry.known('Pattern')
    const value = pattern === undefined ? undefined : patternOf(pattern)
    if (value !== undefined) return [value]
    if (pattern !== undefined || !entry.has('Pattern')) {
      entry.refuse('Pattern', 'The Pattern of a filter must be a string with a JSON object.')
    }
    return []
  })
}

function patternOf(node: Node): unknown {
  if (node.kind === 'map') return jsonOf(node)
  return node.kind === 'scalar' ? parseJsonObject(node.text) : undefined
}
