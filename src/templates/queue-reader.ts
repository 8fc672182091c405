/** Reads the SQS resources of a template: names, settings, tags and policies of queues. */
import { checkQueueName, checkTags, isFifoName } from '../core/check-queue.ts'
import type { Violations } from '../core/checks.ts'
import { parseQueueUrl } from '../sqs/queue-address.ts'
import type { Evaluator } from './evaluator.ts'
import { type Node, valueAt } from './node.ts'
import { PropertyReader } from './property-reader.ts'
import { readQueueSettings } from './queue-properties.ts'
import type { StackQueue } from './stack.ts'
import type { Resource } from './template.ts'
import { firstOpaque, jsonOf } from './texts.ts'

/** Returns undefined if the queue has no valid name, which is reported. */
export function readQueue(evaluator: Evaluator, resource: Resource): StackQueue | undefined {
  const reader = new PropertyReader(evaluator, resource.properties, resource)
  const name = readName(evaluator, resource, reader)
  const { region, account } = evaluator.surroundings
  const settings = readQueueSettings(reader, { region, account, name: name ?? '' })
  const tags = readTags(reader)
  if (name === undefined) return undefined
  return { logicalId: resource.logicalId, name, settings, tags, at: resource.at }
}

export const policyTypes: readonly string[] = [
  'AWS::SQS::QueuePolicy',
  'AWS::SQS::QueueInlinePolicy',
]

export interface QueuePolicy {
  /** The name of the queue. */
  readonly queue: string
  readonly document: string
}

/** Queues do not enforce policies, so an unresolved policy is only a warning. */
export function readPolicy(evaluator: Evaluator, resource: Resource): readonly QueuePolicy[] {
  const { properties } = resource
  const written = valueAt(properties, 'PolicyDocument')
  const targets = valueAt(properties, 'Queues') ?? valueAt(properties, 'Queue')
  if (written === undefined || targets === undefined) return []
  const [document, queues] = evaluator.problems.quietly(() => [
    evaluator.resolve(written),
    evaluator.resolve(targets),
  ])
  const names = (queues.kind === 'list' ? queues.items : [queues]).map(nameInUrl)
  if (firstOpaque(document)?.kind === 'broken' || names.includes(undefined)) {
    evaluator.problems.warning(resource, 'The policy could not be resolved and is ignored.')
    return []
  }
  const text = JSON.stringify(jsonOf(document))
  return names.flatMap((queue) => (queue === undefined ? [] : [{ queue, document: text }]))
}

function nameInUrl(node: Node): string | undefined {
  return node.kind === 'scalar' ? parseQueueUrl(node.text)?.name : undefined
}

function readName(
  evaluator: Evaluator,
  resource: Resource,
  reader: PropertyReader,
): string | undefined {
  const name = evaluator.nameOf(resource)
  if (name.kind === 'broken') return undefined
  if (name.kind !== 'scalar') {
    // Reports the problem.
    return reader.text('QueueName')
  }
  const violations: Violations = []
  checkQueueName(violations, 'QueueName', name.text)
  for (const { allowed } of violations) {
    const given = name.hidden ? 'a hidden value' : `'${name.text.slice(0, 100)}'`
    reader.refuse('QueueName', `QueueName must be ${allowed}; it is ${given}.`)
  }
  if (violations.length > 0) return undefined
  const isFifo = reader.flag('FifoQueue') === true
  if (isFifo === isFifoName(name.text)) return name.text
  reader.refuse(
    'QueueName',
    isFifo
      ? "The name of a FIFO queue must end with '.fifo'."
      : "Only the name of a FIFO queue may end with '.fifo'. Add 'FifoQueue: true', or change the name.",
  )
  return undefined
}

function readTags(reader: PropertyReader): Readonly<Record<string, string>> {
  const tags: [string, string][] = []
  for (const node of reader.list('Tags') ?? []) {
    const tag = reader.inside(node)
    const key = tag.text('Key')
    const value = tag.value('Value')
    const text = value?.kind === 'scalar' || value?.kind === 'opaque' ? value.text : undefined
    if (key === undefined || text === undefined) {
      reader.refuse('Tags', 'A tag must be a map with a Key and a Value.')
    } else tags.push([key, text])
  }
  const byKey = Object.fromEntries(tags)
  const violations: Violations = []
  checkTags(violations, 'Tags', byKey)
  for (const { field, allowed } of violations)
    reader.refuse('Tags', `${field}: expected ${allowed}.`)
  return byKey
}
