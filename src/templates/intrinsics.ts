/**
 * The functions of CloudFormation, by their long names. They get their argument unresolved, because some of
 * them (`Fn::If`) must not resolve all of it.
 */
import { describeGiven } from '../core/checks.ts'
import type { Evaluation } from './evaluation.ts'
import {
  brokenNode,
  describeNode,
  listNode,
  type MapNode,
  movedTo,
  type Node,
  type Origin,
  opaqueNode,
  scalarNode,
  stringOf,
  valueAt,
} from './node.ts'
import { concatenate, firstOpaque, jsonOf } from './texts.ts'

export interface Call {
  readonly evaluation: Evaluation
  /** Not yet resolved. */
  readonly argument: Node
  /** The position of the function. */
  readonly origin: Origin
}

type Intrinsic = (call: Call) => Node

const intrinsics: Readonly<Record<string, Intrinsic>> = {
  Ref: ({ evaluation, argument, origin }) => {
    const name = stringOf(argument)
    if (name === undefined)
      return evaluation.refuse(origin, 'Ref needs the name of a parameter or resource.')
    return evaluation.refer(name, origin)
  },
  'Fn::GetAtt': getAttribute,
  'Fn::Sub': substitute,
  'Fn::Join': join,
  'Fn::Select': select,
  'Fn::Split': split,
  'Fn::If': chooseBranch,
  'Fn::FindInMap': findInMap,
  'Fn::Base64': (call) => {
    const value = call.evaluation.resolve(call.argument)
    if (value.kind !== 'scalar') return orRefuse(call, value, 'Fn::Base64 needs a string.')
    return scalarNode(Buffer.from(value.text, 'utf8').toString('base64'), call.origin)
  },
  'Fn::ImportValue': ({ evaluation, argument, origin }) => {
    const name = evaluation.resolve(argument)
    if (name.kind !== 'scalar') {
      return orRefuse({ evaluation, argument, origin }, name, 'Fn::ImportValue needs a name.')
    }
    return evaluation.importValue(name.text, origin)
  },
  'Fn::Length': (call) => {
    const list = call.evaluation.resolve(call.argument)
    if (list.kind !== 'list') return orRefuse(call, list, 'Fn::Length needs a list.')
    return scalarNode(list.items.length, call.origin)
  },
  'Fn::ToJsonString': ({ evaluation, argument, origin }) => {
    const value = evaluation.resolve(argument)
    const text = evaluation.budget.text(JSON.stringify(jsonOf(value)))
    const unknown = firstOpaque(value)
    if (unknown?.kind === 'broken') return brokenNode(origin)
    return unknown === undefined
      ? scalarNode(text, origin)
      : opaqueNode(text, describeNode(unknown), origin)
  },
  // Networks and zones are only known on AWS. Queues do not need them.
  'Fn::Cidr': ({ origin }) => opaqueNode('{{Fn::Cidr}}', 'Fn::Cidr', origin),
  'Fn::GetAZs': ({ origin }) => opaqueNode('{{Fn::GetAZs}}', 'Fn::GetAZs', origin),
}

/** Whether the map is the call of a function, supported or not. */
export function isCall({ entries }: MapNode): boolean {
  if (entries.size !== 1) return false
  const [name = ''] = entries.keys()
  return name === 'Ref' || name.startsWith('Fn::')
}

export function callIntrinsic(evaluation: Evaluation, node: MapNode): Node {
  for (const [name, { value: argument }] of node.entries) {
    const intrinsic = Object.hasOwn(intrinsics, name) ? intrinsics[name] : undefined
    if (intrinsic !== undefined) {
      return movedTo(intrinsic({ evaluation, argument, origin: node }), node)
    }
    return evaluation.refuse(node, `The function ${describeGiven(name)} is not supported.`)
  }
  return brokenNode(node)
}

function getAttribute({ evaluation, argument, origin }: Call): Node {
  const dotted = stringOf(argument)
  const parts =
    argument.kind === 'list' ? argument.items.map((item) => evaluation.resolve(item)) : []
  const [logicalId, attribute] = dotted === undefined ? parts.map(stringOf) : splitOnce(dotted, '.')
  if (parts.some(({ kind }) => kind === 'broken')) return brokenNode(origin)
  if (logicalId === undefined || attribute === undefined || parts.length > 2) {
    const form = "a logical id and an attribute: 'Orders.Arn' or [Orders, Arn]"
    return evaluation.refuse(origin, `Fn::GetAtt needs ${form}.`)
  }
  return evaluation.attribute(logicalId, attribute, origin)
}

const placeholder = /\$\{([^{}]*)\}/g

function substitute({ evaluation, argument, origin }: Call): Node {
  const [pattern, values] = argument.kind === 'list' ? argument.items : [argument]
  const text = stringOf(pattern)
  if (text === undefined || (values !== undefined && values.kind !== 'map')) {
    return evaluation.refuse(origin, 'Fn::Sub needs a string, or a string and a map of values.')
  }
  const parts: Node[] = []
  let end = 0
  for (const match of text.matchAll(placeholder)) {
    parts.push(scalarNode(text.slice(end, match.index), origin))
    parts.push(substituted(evaluation, (match[1] ?? '').trim(), values, origin))
    end = match.index + match[0].length
  }
  parts.push(scalarNode(text.slice(end), origin))
  return concatenate(evaluation, parts, origin)
}

function substituted(
  evaluation: Evaluation,
  name: string,
  values: MapNode | undefined,
  origin: Origin,
): Node {
  if (name.startsWith('!')) return scalarNode(`\${${name.slice(1)}}`, origin)
  const given = valueAt(values, name)
  if (given !== undefined) return evaluation.resolve(given)
  const [logicalId = '', attribute] = splitOnce(name, '.')
  return attribute === undefined
    ? evaluation.refer(name, origin)
    : evaluation.attribute(logicalId, attribute, origin)
}

function join(call: Call): Node {
  const { evaluation, argument, origin } = call
  const [separator, values] = argument.kind === 'list' ? argument.items : []
  const glue = stringOf(separator)
  if (glue === undefined || values === undefined) {
    return evaluation.refuse(origin, 'Fn::Join needs a separator and a list: [",", [a, b]].')
  }
  const list = evaluation.resolve(values)
  if (list.kind !== 'list') return orRefuse(call, list, 'Fn::Join needs a list.')
  const parts = list.items.flatMap((item, index) =>
    index === 0 ? [item] : [scalarNode(glue, origin), item],
  )
  return concatenate(evaluation, parts, origin)
}

function select(call: Call): Node {
  const { evaluation, argument, origin } = call
  const [position, values] = argument.kind === 'list' ? argument.items : []
  if (position === undefined || values === undefined) {
    return evaluation.refuse(origin, 'Fn::Select needs an index and a list: [0, [a, b]].')
  }
  const [index, list] = [evaluation.resolve(position), evaluation.resolve(values)]
  if (list.kind !== 'list') return orRefuse(call, list, 'Fn::Select needs a list.')
  if (index.kind !== 'scalar') return orRefuse(call, index, 'Fn::Select needs an index.')
  const picked = /^\d+$/.test(index.text) ? list.items[Number(index.text)] : undefined
  if (picked !== undefined) return picked
  const has = `the list has ${list.items.length} entries, counted from 0`
  return evaluation.refuse(origin, `Fn::Select cannot select ${describeNode(index)}: ${has}.`)
}

function split(call: Call): Node {
  const { evaluation, argument, origin } = call
  const [separator, value] = argument.kind === 'list' ? argument.items : []
  const glue = stringOf(separator)
  if (glue === undefined || glue === '' || value === undefined) {
    return evaluation.refuse(origin, 'Fn::Split needs a separator and a string: [",", "a,b"].')
  }
  const text = evaluation.resolve(value)
  if (text.kind !== 'scalar') return orRefuse(call, text, 'Fn::Split needs a string.')
  const parts = text.text.split(glue).map((part) => {
    evaluation.budget.step()
    return scalarNode(part, origin)
  })
  return listNode(parts, origin)
}

function chooseBranch({ evaluation, argument, origin }: Call): Node {
  const [name, then, otherwise] = argument.kind === 'list' ? argument.items : []
  if (name === undefined || then === undefined || otherwise === undefined) {
    return evaluation.refuse(origin, 'Fn::If needs a condition and two values: [IsProd, a, b].')
  }
  const holds = evaluation.condition(name)
  if (holds === undefined) return brokenNode(origin)
  return evaluation.resolve(holds ? then : otherwise)
}

function findInMap(call: Call): Node {
  const { evaluation, argument, origin } = call
  const keys =
    argument.kind === 'list' ? argument.items.map((item) => evaluation.resolve(item)) : []
  const [map, first, second, options] = keys
  if (map === undefined || first === undefined || second === undefined) {
    return evaluation.refuse(origin, 'Fn::FindInMap needs a mapping and two keys: [Map, a, b].')
  }
  let found: Node | undefined = evaluation.template.mappings
  const path: string[] = []
  for (const key of [map, first, second]) {
    if (key.kind !== 'scalar')
      return orRefuse(call, key, 'The keys of Fn::FindInMap must be strings.')
    path.push(key.hidden ? '…' : key.text)
    found = valueAt(found, key.text)
  }
  found ??= valueAt(options, 'DefaultValue')
  if (found !== undefined) return found
  return evaluation.refuse(origin, `The mappings have no '${path.join('.')}'.`)
}

/** Returns opaque and broken nodes as they are. Reports any other value. */
function orRefuse({ evaluation, origin }: Call, value: Node, expected: string): Node {
  if (value.kind === 'opaque') return opaqueNode(value.text, value.what, origin)
  if (value.kind === 'broken') return value
  return evaluation.refuse(origin, `${expected} It got ${describeNode(value)}.`)
}

function splitOnce(text: string, separator: string): readonly (string | undefined)[] {
  const at = text.indexOf(separator)
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + separator.length)]
}
