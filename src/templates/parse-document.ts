/**
 * Parses a YAML or JSON file into a tree of values with positions. JSON is parsed as YAML, so both have the
 * same positions and problems.
 */
import {
  type Alias,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type ParsedNode,
  type Scalar,
  type YAMLMap,
  parseDocument as yamlDocument,
} from 'yaml'
import {
  brokenNode,
  listNode,
  type MapEntry,
  mapNode,
  type Node,
  type Origin,
  type ScalarNode,
  scalarNode,
} from './node.ts'
import type { Problems } from './problems.ts'
import type { Place } from './stack.ts'

const depthMax = 100
const syntaxErrorsMax = 10

/** Tags that keep their name. All others become `Fn::` with the text after the `!`. */
const plainTags: ReadonlySet<string> = new Set(['Ref', 'Condition'])
const tagPattern = /^!([A-Z][A-Za-z0-9]*)$/

export interface DocumentText {
  readonly file: string
  readonly text: string
}

/** Returns undefined if the text cannot be parsed, which is reported. */
export function parseDocument({ file, text }: DocumentText, problems: Problems): Node | undefined {
  const lines = new LineCounter()
  const document = yamlDocument(text, {
    lineCounter: lines,
    // Both are checked below, in linear time.
    uniqueKeys: false,
    prettyErrors: false,
    logLevel: 'silent',
  })
  const placeAt = (offset: number): Place => {
    const { line, col } = lines.linePos(offset)
    return { file, line: Math.max(1, line), column: Math.max(1, col) }
  }
  for (const { message, pos } of document.errors.slice(0, syntaxErrorsMax)) {
    problems.error({ at: placeAt(pos[0]), path: '' }, `The file cannot be read: ${plain(message)}.`)
  }
  if (document.errors.length > 0) return undefined
  return new TreeBuilder(placeAt, problems).build(document.contents, { path: '', depth: 0 })
}

function plain(message: string): string {
  return message.includes('call stack') ? 'it is nested too deeply' : message.replace(/\.$/, '')
}

interface Position {
  readonly path: string
  readonly depth: number
}

class TreeBuilder {
  readonly #placeAt: (offset: number) => Place
  readonly #problems: Problems
  /** The targets of aliases, filled in document order. */
  readonly #anchors = new Map<string, Node>()

  constructor(placeAt: (offset: number) => Place, problems: Problems) {
    this.#placeAt = placeAt
    this.#problems = problems
  }

  build(node: ParsedNode | null, { path, depth }: Position): Node {
    const origin = { at: this.#placeAt(node?.range[0] ?? 0), path }
    if (node === null) return scalarNode(null, origin)
    if (depth > depthMax) return this.#refuse(origin, 'The file is nested too deeply.')
    if (isAlias(node)) return this.#alias(node.source, origin)
    const built = this.#tagged(node, this.#plain(node, { path, depth }, origin), origin)
    if (node.anchor !== undefined) this.#anchors.set(node.anchor, built)
    return built
  }

  #plain(node: Exclude<ParsedNode, Alias.Parsed>, { path, depth }: Position, origin: Origin): Node {
    if (isScalar(node)) return scalar(node, origin)
    if (isSeq<ParsedNode>(node)) {
      const items = node.items.map((item, index) =>
        this.build(item, { path: `${path}[${index}]`, depth: depth + 1 }),
      )
      return listNode(items, origin)
    }
    if (!isMap<ParsedNode, ParsedNode | null>(node)) return brokenNode(origin)
    return { kind: 'map', entries: this.#entries(node, { path, depth }), ...origin }
  }

  #entries(
    map: YAMLMap<ParsedNode, ParsedNode | null>,
    { path, depth }: Position,
  ): ReadonlyMap<string, MapEntry> {
    const entries = new Map<string, MapEntry>()
    const merged: Node[] = []
    for (const { key, value } of map.items) {
      const keyAt = this.#placeAt(key.range[0])
      const name = isScalar(key) ? scalar(key, { at: keyAt, path }).text : undefined
      if (name === undefined) {
        this.#problems.error({ at: keyAt, path }, 'A key must be a plain string.')
        continue
      }
      const inner = path === '' ? name : `${path}.${name}`
      const built = this.build(value, { path: inner, depth: depth + 1 })
      // An empty value has no position.
      const placed = value === null ? { ...built, at: keyAt } : built
      if (name === '<<') merged.push(placed)
      else if (entries.has(name)) {
        this.#problems.error({ at: keyAt, path: inner }, `The key '${name}' appears twice.`)
      } else entries.set(name, { keyAt, value: placed })
    }
    for (const node of merged) this.#merge(node, entries)
    return entries
  }

  /** The YAML merge `<<: *base`. Keys beside it take precedence. */
  #merge(node: Node, into: Map<string, MapEntry>): void {
    if (node.kind === 'list') for (const item of node.items) this.#merge(item, into)
    else if (node.kind === 'map') {
      for (const [key, entry] of node.entries) if (!into.has(key)) into.set(key, entry)
    } else if (node.kind !== 'broken') this.#refuse(node, "The value of '<<' must be a map.")
  }

  #alias(name: string, origin: Origin): Node {
    return (
      this.#anchors.get(name) ??
      this.#refuse(
        origin,
        `The anchor '&${name}' does not exist before this alias, or contains it.`,
      )
    )
  }

  #tagged(node: { readonly tag?: string | undefined }, value: Node, origin: Origin): Node {
    const { tag } = node
    if (tag === undefined || tag.startsWith('tag:yaml.org,2002:')) return value
    const name = tagPattern.exec(tag)?.[1]
    if (name === undefined) {
      return this.#refuse(origin, `The tag '${tag.slice(0, 40)}' is not a CloudFormation tag.`)
    }
    return mapNode({ [plainTags.has(name) ? name : `Fn::${name}`]: value }, origin)
  }

  #refuse(origin: Origin, message: string): Node {
    this.#problems.error(origin, message)
    return brokenNode(origin)
  }
}

function scalar({ value, source }: Scalar, origin: Origin): ScalarNode {
  const known =
    typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
      ? value
      : null
  const text = typeof known === 'string' ? known : (source ?? String(known ?? ''))
  return { ...scalarNode(known, origin), text }
}
