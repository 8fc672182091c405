/**
 * Parses the parameters of the Query protocol, `Attribute.1.Name=DelaySeconds&…`, into a tree along their
 * dots, so that a shape finds its members in one step.
 */
import { SqsError } from './sqs-error.ts'

export interface ParameterNode {
  value: string | undefined
  readonly children: Map<string, ParameterNode>
}

/** Enough for the largest batch. */
const parametersMax = 1_000

/** If a parameter is repeated, the first value counts. */
export function parseParameters(...sources: readonly string[]): ParameterNode {
  const root = newNode()
  let count = 0
  for (const source of sources) {
    for (const part of source === '' ? [] : source.split('&', parametersMax + 1)) {
      count += 1
      if (count > parametersMax) throw malformed(`More than ${parametersMax} parameters.`)
      const equals = part.indexOf('=')
      const name = decode(equals < 0 ? part : part.slice(0, equals))
      const value = equals < 0 ? '' : decode(part.slice(equals + 1))
      if (name !== '') nodeAt(root, name).value ??= value
    }
  }
  return root
}

/** No shape is deeper, so longer names are ignored. */
const depthMax = 8

function nodeAt(root: ParameterNode, name: string): ParameterNode {
  let node = root
  for (const step of name.split('.', depthMax)) {
    let child = node.children.get(step)
    if (child === undefined) {
      child = newNode()
      node.children.set(step, child)
    }
    node = child
  }
  return node
}

function newNode(): ParameterNode {
  return { value: undefined, children: new Map() }
}

function decode(text: string): string {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text
  if (!spaced.includes('%')) return spaced
  try {
    return decodeURIComponent(spaced)
  } catch {
    throw malformed('A parameter is not percent-encoded UTF-8.')
  }
}

function malformed(message: string): SqsError {
  return new SqsError('SerializationException', message)
}
