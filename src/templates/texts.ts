/** Putting texts together from resolved values, some of which may be known to AWS alone. */
import type { Evaluation } from './evaluation.ts'
import { describeNode, type Node, type Origin, opaqueNode, scalarNode } from './node.ts'

type Context = Pick<Evaluation, 'budget' | 'refuse'>

/** One text of many values. What is opaque in one of them makes the whole opaque. */
export function concatenate(
  { budget, refuse }: Context,
  parts: readonly Node[],
  origin: Origin,
): Node {
  let text = ''
  let unknown: string | undefined
  let hidden = false
  for (const part of parts) {
    if (part.kind === 'broken') return part
    if (part.kind === 'list' || part.kind === 'map' || part.kind === 'absent') {
      return refuse(part, `Expected a text here, got ${describeNode(part)}.`)
    }
    if (part.kind === 'opaque') unknown ??= part.what
    else hidden ||= part.hidden === true
    text += part.text
  }
  budget.text(text)
  if (unknown !== undefined) return opaqueNode(text, unknown, origin)
  return hidden ? { ...scalarNode(text, origin), hidden } : scalarNode(text, origin)
}

/** The plain value, for what is kept as JSON: policies, filters. Undefined when it cannot be told. */
export function jsonOf(node: Node): unknown {
  switch (node.kind) {
    case 'scalar':
      return node.value
    case 'list':
      return node.items.map(jsonOf)
    case 'map':
      return Object.fromEntries([...node.entries].map(([key, { value }]) => [key, jsonOf(value)]))
    case 'opaque':
      return node.text
    default:
      return null
  }
}

/** Whether something in the value is known to AWS alone. */
export function firstOpaque(node: Node): Node | undefined {
  if (node.kind === 'opaque' || node.kind === 'broken') return node
  const inner =
    node.kind === 'list'
      ? node.items
      : node.kind === 'map'
        ? [...node.entries.values()].map(({ value }) => value)
        : []
  for (const one of inner) {
    const found = firstOpaque(one)
    if (found !== undefined) return found
  }
  return undefined
}
