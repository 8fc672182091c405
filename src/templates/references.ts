/**
 * The values of `Ref` and `Fn::GetAtt` for a resource. Queues and functions have values here. Values of all
 * other resources are only known on AWS.
 */
import { didYouMean } from '../core/did-you-mean.ts'
import { formatArn, formatUrl } from '../sqs/queue-address.ts'
import type { Evaluation } from './evaluation.ts'
import { type Node, type Origin, opaqueNode, scalarNode, valueAt } from './node.ts'
import { physicalName } from './physical-name.ts'
import type { Resource } from './template.ts'
import { concatenate } from './texts.ts'

export const queueType = 'AWS::SQS::Queue'
export const functionType = 'AWS::Lambda::Function'

/** Builds a value from the name on AWS. */
type FromName = (evaluation: Evaluation, name: string) => string

interface Kind {
  readonly reference: FromName
  readonly attributes: Readonly<Record<string, FromName>>
}

const queueUrl: FromName = ({ surroundings }, name) =>
  formatUrl(surroundings.endpoint, { ...surroundings, name }, surroundings)

const functionArn: FromName = ({ surroundings: { region, account } }, name) =>
  `arn:${partitionOf(region)}:lambda:${region}:${account}:function:${name}`

const kinds: Readonly<Record<string, Kind>> = {
  [queueType]: {
    reference: queueUrl,
    attributes: {
      Arn: ({ surroundings }, name) => formatArn({ ...surroundings, name }),
      QueueName: (_, name) => name,
      QueueUrl: queueUrl,
    },
  },
  [functionType]: { reference: (_, name) => name, attributes: { Arn: functionArn } },
}

export function partitionOf(region: string): string {
  if (region.startsWith('cn-')) return 'aws-cn'
  return region.startsWith('us-gov-') ? 'aws-us-gov' : 'aws'
}

export function referenceTo(evaluation: Evaluation, resource: Resource, origin: Origin): Node {
  const kind = Object.hasOwn(kinds, resource.type) ? kinds[resource.type] : undefined
  if (kind !== undefined) return made(evaluation, resource, kind.reference, origin)
  const version = qualifiedFunction(evaluation, resource, origin)
  return version ?? onAws(resource, `Ref of ${resource.logicalId}`, resource.logicalId, origin)
}

export function attributeOf(
  evaluation: Evaluation,
  resource: Resource,
  attribute: string,
  origin: Origin,
): Node {
  const { logicalId, type } = resource
  const attributes = Object.hasOwn(kinds, type) ? kinds[type]?.attributes : undefined
  if (attributes === undefined) {
    return onAws(resource, `${logicalId}.${attribute}`, `${logicalId}.${attribute}`, origin)
  }
  const make = Object.hasOwn(attributes, attribute) ? attributes[attribute] : undefined
  if (make !== undefined) return made(evaluation, resource, make, origin)
  const known = Object.keys(attributes)
  if (type === functionType) {
    return onAws(resource, `${logicalId}.${attribute}`, `${logicalId}.${attribute}`, origin)
  }
  const hint = attribute.length > 80 ? '' : didYouMean(attribute, known)
  const message = `A queue has no attribute '${attribute.slice(0, 80)}'; it has ${known.join(', ')}`
  return evaluation.refuse(origin, `${message}${hint || '.'}`)
}

/** The declared name, or a generated one as CloudFormation makes it. */
export function declaredName(evaluation: Evaluation, resource: Resource): Node {
  const isQueue = resource.type === queueType
  const given = valueAt(resource.properties, isQueue ? 'QueueName' : 'FunctionName')
  const name = given === undefined ? undefined : evaluation.resolve(given)
  if (name !== undefined && name.kind !== 'absent') return name
  const fifo = valueAt(resource.properties, 'FifoQueue')
  const isFifo = isQueue && fifo !== undefined && isTrue(evaluation.resolve(fifo))
  const generated = physicalName({
    stackName: evaluation.template.stackName,
    logicalId: resource.logicalId,
    lengthMax: isQueue ? 80 : 64,
    ...(isFifo ? { suffix: '.fifo' } : {}),
  })
  return scalarNode(generated, resource)
}

export function isTrue(node: Node): boolean {
  return node.kind === 'scalar' && /^true$/i.test(node.text)
}

/** A version or alias of a function counts as the function itself. */
function qualifiedFunction(
  evaluation: Evaluation,
  { type, properties, logicalId }: Resource,
  origin: Origin,
): Node | undefined {
  if (type !== 'AWS::Lambda::Version' && type !== 'AWS::Lambda::Alias') return undefined
  const name = valueAt(properties, 'FunctionName')
  if (name === undefined) return undefined
  const target = evaluation.resolve(name)
  if (target.kind !== 'scalar') return target
  const arn = target.text.startsWith('arn:') ? target.text : functionArn(evaluation, target.text)
  return scalarNode(`${arn}:${logicalId}`, origin)
}

function made(evaluation: Evaluation, resource: Resource, make: FromName, origin: Origin): Node {
  const name = evaluation.nameOf(resource)
  if (name.kind === 'scalar') return scalarNode(make(evaluation, name.text), origin)
  if (name.kind === 'opaque') return opaqueNode(make(evaluation, name.text), name.what, origin)
  // Reports values that are not strings.
  return concatenate(evaluation, [name], origin)
}

function onAws({ type }: Resource, what: string, text: string, origin: Origin): Node {
  return opaqueNode(`{{${text}}}`, `${what} (${type})`, origin)
}
