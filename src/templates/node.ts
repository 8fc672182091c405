/**
 * A template as a tree of values with their positions. Short forms such as `!Ref` are already expanded, so
 * each function has only one form.
 */
import type { Place } from './stack.ts'

export type Node = ScalarNode | ListNode | MapNode | OpaqueNode | AbsentNode | BrokenNode

/** The position of a value in a file, and its path in the document (`Resources.Orders.Properties`). */
export interface Origin {
  readonly at: Place
  readonly path: string
}

export interface ScalarNode extends Origin {
  readonly kind: 'scalar'
  readonly value: string | number | boolean | null
  /** As written: the number `007` is still `007` in a name. */
  readonly text: string
  /** From the environment or a NoEcho parameter: must not be shown. */
  readonly hidden?: boolean
}

export interface ListNode extends Origin {
  readonly kind: 'list'
  readonly items: readonly Node[]
}

export interface MapNode extends Origin {
  readonly kind: 'map'
  readonly entries: ReadonlyMap<string, MapEntry>
}

export interface MapEntry {
  readonly keyAt: Place
  readonly value: Node
}

/** A value that is only known on AWS: the ARN of a topic, a stored parameter. */
export interface OpaqueNode extends Origin {
  readonly kind: 'opaque'
  /** A placeholder for uses where the value does not matter. */
  readonly text: string
  /** For problem messages: `Ref of AlertsTopic (AWS::SNS::Topic)`. */
  readonly what: string
}

/** `AWS::NoValue`: the property counts as missing. */
export interface AbsentNode extends Origin {
  readonly kind: 'absent'
}

/** A value that could not be resolved, which was reported. */
export interface BrokenNode extends Origin {
  readonly kind: 'broken'
}

export function scalarNode(value: ScalarNode['value'], origin: Origin): ScalarNode {
  return { kind: 'scalar', value, text: String(value ?? ''), at: origin.at, path: origin.path }
}

export function listNode(items: readonly Node[], origin: Origin): ListNode {
  return { kind: 'list', items, at: origin.at, path: origin.path }
}

export function mapNode(values: Readonly<Record<string, Node | undefined>>, from: Origin): MapNode {
  const entries = new Map<string, MapEntry>()
  for (const [key, value] of Object.entries(values)) {
    if (value !== undefined) entries.set(key, { keyAt: value.at, value })
  }
  return { kind: 'map', entries, at: from.at, path: from.path }
}

export function opaqueNode(text: string, what: string, origin: Origin): OpaqueNode {
  return { kind: 'opaque', text, what, at: origin.at, path: origin.path }
}

export function absentNode(origin: Origin): AbsentNode {
  return { kind: 'absent', at: origin.at, path: origin.path }
}

export function brokenNode(origin: Origin): BrokenNode {
  return { kind: 'broken', at: origin.at, path: origin.path }
}

/** The same value at another position, to report problems where the value is used. */
export function movedTo(node: Node, origin: Origin): Node {
  return node.kind === 'scalar' || node.kind === 'opaque'
    ? { ...node, at: origin.at, path: origin.path }
    : node
}

/** The value of a key; undefined also if the node is not a map. */
export function valueAt(node: Node | undefined, key: string): Node | undefined {
  return node?.kind === 'map' ? node.entries.get(key)?.value : undefined
}

/** The text of a string scalar. */
export function stringOf(node: Node | undefined): string | undefined {
  return node?.kind === 'scalar' && typeof node.value === 'string' ? node.value : undefined
}

/** The entries of a map; an empty list for other nodes. */
export function entriesOf(node: Node | undefined): readonly (readonly [string, MapEntry])[] {
  return node?.kind === 'map' ? [...node.entries] : []
}

/** Describes a value in a problem message: its kind, and its text if short and not hidden. */
export function describeNode(node: Node): string {
  switch (node.kind) {
    case 'scalar':
      if (node.hidden) return 'a hidden value'
      if (node.value === null) return 'nothing'
      return node.text.length > 60 ? `'${node.text.slice(0, 60)}…'` : `'${node.text}'`
    case 'list':
      return 'a list'
    case 'map': {
      const keys = [...node.entries.keys()].slice(0, 3).map((key) => key.slice(0, 40))
      return keys.length === 0 ? 'an empty map' : `a map of ${keys.join(', ')}`
    }
    case 'opaque':
      return node.what
    default:
      return 'nothing'
  }
}
