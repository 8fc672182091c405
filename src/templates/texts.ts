/** Builds strings from resolved values. Some values may be known only on AWS (opaque). */
import type { Evaluation } from './evaluation.ts'
import { describeNode, type Node, type Origin, opaqueNode, scalarNode } from './node.ts'

type Context = Pick<Evaluation, 'budget' | 'refuse'>

/** Concatenates values. One opaque value makes the result opaque. */
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
      return refuse(part, `Expected a string, got ${describeNode(part)}.`)
    }
    if (part.kind === 'opaque') unknown ??= part.what
    else hidden ||= part.hidden === true
    text += part.text
  }
  budget.text(text)
  if (unknown !== undefined) return opaqueNode(text, unknown, origin)
  return hidden ? { ...scalarNode(text, origin), hidden } : scalarNode(text, origin)
}

/** The plain value, for policies and filters; undefined if it is not known. */
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

/** The first opaque value in a node, if any. */
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
