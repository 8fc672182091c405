/** The declared parameters of a template, and the pseudo parameters. */
import { createHash } from 'node:crypto'
import type { Evaluation } from './evaluation.ts'
import {
  absentNode,
  describeNode,
  listNode,
  type Node,
  type Origin,
  opaqueNode,
  type ScalarNode,
  scalarNode,
  stringOf,
  valueAt,
} from './node.ts'
import { isTrue, partitionOf } from './references.ts'

export function pseudoParameter(
  { surroundings: { region, account }, template: { stackName } }: Evaluation,
  name: string,
  origin: Origin,
): Node | undefined {
  const partition = partitionOf(region)
  switch (name) {
    case 'AWS::NoValue':
      return absentNode(origin)
    case 'AWS::NotificationARNs':
      return listNode([], origin)
    case 'AWS::Region':
      return scalarNode(region, origin)
    case 'AWS::AccountId':
      return scalarNode(account, origin)
    case 'AWS::StackName':
      return scalarNode(stackName, origin)
    case 'AWS::Partition':
      return scalarNode(partition, origin)
    case 'AWS::URLSuffix':
      return scalarNode(partition === 'aws-cn' ? 'amazonaws.com.cn' : 'amazonaws.com', origin)
    case 'AWS::StackId': {
      const id = stableUuid(stackName)
      const stack = `stack/${stackName}/${id}`
      return scalarNode(`arn:${partition}:cloudformation:${region}:${account}:${stack}`, origin)
    }
    default:
      return undefined
  }
}

/** The given value of a declared parameter, or its default. */
export function parameterValue(evaluation: Evaluation, name: string, origin: Origin): Node {
  const declared = valueAt(evaluation.template.parameters, name)
  const type = stringOf(valueAt(declared, 'Type')) ?? 'String'
  const given = Object.hasOwn(evaluation.surroundings.parameters, name)
    ? evaluation.surroundings.parameters[name]
    : undefined
  const byDefault = valueAt(declared, 'Default')
  if (given === undefined && type.startsWith('AWS::SSM::Parameter::Value')) {
    return opaqueNode(`{{${name}}}`, `the parameter ${name} (${type})`, origin)
  }
  const value =
    given ?? (byDefault?.kind === 'scalar' && byDefault.value !== null ? byDefault.text : undefined)
  if (value === undefined) {
    return evaluation.refuse(
      origin,
      `The parameter '${name}' has no value and no default. Use --param ${name}=…`,
    )
  }
  const noEcho = valueAt(declared, 'NoEcho')
  const hidden = noEcho !== undefined && isTrue(noEcho)
  const node: ScalarNode = { ...scalarNode(value, origin), ...(hidden ? { hidden } : {}) }
  const refused = refusal(node, type, valueAt(declared, 'AllowedValues'))
  if (refused !== undefined) {
    return evaluation.refuse(declared ?? origin, `The parameter '${name}' ${refused}.`)
  }
  if (type !== 'CommaDelimitedList' && !type.startsWith('List<')) return node
  return listNode(
    value.split(',').map((part) => ({ ...node, value: part.trim(), text: part.trim() })),
    origin,
  )
}

function refusal(node: ScalarNode, type: string, allowed: Node | undefined): string | undefined {
  if (type === 'Number' && (node.text.trim() === '' || !Number.isFinite(Number(node.text)))) {
    return `must be a number; got ${describeNode(node)}`
  }
  if (allowed?.kind !== 'list') return undefined
  const choices = allowed.items.flatMap((item) => (item.kind === 'scalar' ? [item.text] : []))
  if (choices.includes(node.text)) return undefined
  return `must be one of ${choices.slice(0, 20).join(', ')}; got ${describeNode(node)}`
}

function stableUuid(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20)]
    .concat(hex.slice(20, 32))
    .join('-')
}
