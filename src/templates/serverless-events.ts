/** Converts the `sqs` events of serverless.yml to event source mappings. Ignores other events. */
import { didYouMean } from '../core/did-you-mean.ts'
import { eventSourceType } from './event-source-reader.ts'
import { isCall } from './intrinsics.ts'
import { listNode, mapNode, type Node, type Origin, scalarNode, stringOf, valueAt } from './node.ts'
import type { Problems } from './problems.ts'
import { eventSourceLogicalId, functionLogicalId } from './serverless-naming.ts'
import type { ServerlessVariables } from './serverless-variables.ts'
import type { Resource } from './template.ts'
import { uniqueName } from './unique-name.ts'

const knownSettings: readonly string[] = [
  'arn',
  'batchSize',
  'enabled',
  'filterPatterns',
  'functionResponseType',
  'maximumBatchingWindow',
  'maximumConcurrency',
  // Accepted without effect.
  'kmsKeyArn',
  'metricsConfig',
  'provisionedPollerConfig',
  'queueName',
]

export interface EventfulFunction {
  readonly key: string
  readonly declared: Node
  readonly origin: Origin
}

export function serverlessEventSources(
  variables: ServerlessVariables,
  { key, declared, origin }: EventfulFunction,
  problems: Problems,
): readonly Resource[] {
  const written = valueAt(declared, 'events')
  const events = written === undefined ? undefined : variables.shallow(written)
  if (events?.kind !== 'list') return []
  const taken = new Set<string>()
  return events.items.flatMap((item) => {
    const event = variables.shallow(item)
    const entry = event.kind === 'map' ? event.entries.get('sqs') : undefined
    if (entry === undefined) return []
    const sqs = variables.deep(entry.value)
    warnOfUnknown(sqs, problems)
    const arn = sqs.kind !== 'map' || isCall(sqs) ? sqs : valueAt(sqs, 'arn')
    const logicalId = uniqueName(taken, eventSourceLogicalId(key, queueIn(arn)))
    return [
      {
        logicalId,
        type: eventSourceType,
        properties: mapNode(mappingOf(sqs, arn, key, origin), sqs),
        metadata: undefined,
        condition: undefined,
        at: entry.keyAt,
        path: sqs.path,
      },
    ]
  })
}

function mappingOf(
  sqs: Node,
  arn: Node | undefined,
  key: string,
  origin: Origin,
): Readonly<Record<string, Node | undefined>> {
  const concurrency = valueAt(sqs, 'maximumConcurrency')
  const response = valueAt(sqs, 'functionResponseType')
  const patterns = valueAt(sqs, 'filterPatterns')
  return {
    EventSourceArn: arn,
    FunctionName: mapNode({ Ref: scalarNode(functionLogicalId(key), origin) }, origin),
    BatchSize: valueAt(sqs, 'batchSize'),
    MaximumBatchingWindowInSeconds: valueAt(sqs, 'maximumBatchingWindow'),
    Enabled: valueAt(sqs, 'enabled'),
    ScalingConfig: concurrency && mapNode({ MaximumConcurrency: concurrency }, concurrency),
    FunctionResponseTypes: response && listNode([response], response),
    FilterCriteria: patterns && filterCriteria(patterns),
  }
}

/** Patterns are maps here. CloudFormation has a string in each filter. */
function filterCriteria(patterns: Node): Node {
  if (patterns.kind !== 'list') return mapNode({ Filters: patterns }, patterns)
  const filters = patterns.items.map((pattern) => mapNode({ Pattern: pattern }, pattern))
  return mapNode({ Filters: listNode(filters, patterns) }, patterns)
}

function warnOfUnknown(sqs: Node, problems: Problems): void {
  if (sqs.kind !== 'map' || isCall(sqs)) return
  for (const [name, { keyAt, value }] of sqs.entries) {
    if (knownSettings.includes(name)) continue
    const hint = didYouMean(name.slice(0, 80), knownSettings)
    const message = `An sqs event has no setting '${name.slice(0, 80)}'${hint || '.'}`
    problems.warning({ at: keyAt, path: value.path }, message)
  }
}

/** The name of the queue in the logical id that the framework generates. */
function queueIn(arn: Node | undefined): string {
  const attribute = valueAt(arn, 'Fn::GetAtt')
  const [first] = attribute?.kind === 'list' ? attribute.items : [attribute]
  const reference = stringOf(first)
  if (reference !== undefined) return reference.split('.')[0] ?? reference
  const imported = stringOf(valueAt(arn, 'Fn::ImportValue'))
  return imported ?? stringOf(arn)?.split(':').at(-1) ?? ''
}
