/**
 * Reads the properties of a resource and checks their types. Like CloudFormation, accepts numbers and
 * booleans as strings. A wrong value is reported with its position, and the property counts as missing.
 */
import { describeRange, type Range } from '../core/limits.ts'
import { parseJsonObject } from '../sqs/json-object.ts'
import type { Evaluation } from './evaluation.ts'
import { describeNode, type MapNode, type Node, type Origin, valueAt } from './node.ts'
import { isTrue } from './references.ts'
import { jsonOf } from './texts.ts'

export class PropertyReader {
  readonly #evaluation: Evaluation
  readonly #properties: Node | undefined
  /** The position of the resource, for missing properties. */
  readonly origin: Origin

  constructor(evaluation: Evaluation, properties: Node | undefined, origin: Origin) {
    this.#evaluation = evaluation
    this.#properties = properties
    this.origin = origin
  }

  /** The names of the given properties, with the positions of their keys. */
  written(): readonly (readonly [string, Origin])[] {
    if (this.#properties?.kind !== 'map') return []
    return [...this.#properties.entries].map(([name, { keyAt, value }]) => [
      name,
      { at: keyAt, path: value.path },
    ])
  }

  has(name: string): boolean {
    return valueAt(this.#properties, name) !== undefined
  }

  /** The position for problems with a property. */
  at(name: string): Origin {
    return valueAt(this.#properties, name) ?? this.origin
  }

  /** The resolved value, which may be opaque; undefined if missing or rejected. */
  value(name: string): Node | undefined {
    const written = valueAt(this.#properties, name)
    if (written === undefined) return undefined
    const value = this.#evaluation.resolve(written)
    const isEmpty = value.kind === 'scalar' && value.value === null
    return isEmpty || value.kind === 'absent' || value.kind === 'broken' ? undefined : value
  }

  /** The resolved value, which must be known here. */
  known(name: string): Exclude<Node, { readonly kind: 'opaque' }> | undefined {
    const value = this.value(name)
    if (value?.kind !== 'opaque') return value
    this.refuse(name, `${name} is required, but its value is only known on AWS: ${value.what}.`)
    return undefined
  }

  text(name: string): string | undefined {
    const value = this.known(name)
    if (value === undefined) return undefined
    if (value.kind === 'scalar') return value.text
    return this.#expected(name, 'a string', value)
  }

  wholeNumber(name: string, range: Range): number | undefined {
    const number = this.number(name)
    if (number === undefined) return undefined
    if (Number.isInteger(number) && number >= range.min && number <= range.max) return number
    const value = this.known(name)
    return value && this.#expected(name, `a whole number, ${describeRange(range)}`, value)
  }

  number(name: string): number | undefined {
    const value = this.known(name)
    if (value === undefined) return undefined
    const text = value.kind === 'scalar' ? value.text.trim() : ''
    if (/^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(text)) return Number(text)
    return this.#expected(name, 'a number', value)
  }

  flag(name: string): boolean | undefined {
    const value = this.known(name)
    if (value === undefined) return undefined
    if (isTrue(value)) return true
    if (value.kind === 'scalar' && /^false$/i.test(value.text)) return false
    return this.#expected(name, 'true or false', value)
  }

  /** One of these words, spelled exactly as on AWS. */
  word<Word extends string>(name: string, words: readonly Word[]): Word | undefined {
    const value = this.known(name)
    if (value === undefined) return undefined
    const found = words.find((word) => value.kind === 'scalar' && value.text === word)
    return found ?? this.#expected(name, `one of ${words.join(', ')}`, value)
  }

  list(name: string): readonly Node[] | undefined {
    const value = this.known(name)
    if (value === undefined || value.kind === 'list') return value?.items
    return this.#expected(name, 'a list', value)
  }

  /** A map, or a string with a JSON object. Policies allow both. */
  document(name: string): PropertyReader | undefined {
    const value = this.known(name)
    if (value?.kind === 'map') return this.inside(value)
    if (value === undefined) return undefined
    const parsed = value.kind === 'scalar' ? parsedMap(value.text, value) : undefined
    if (parsed !== undefined) return this.inside(parsed)
    return this.#expected(name, 'a map, or a string with JSON', value)
  }

  /** All properties as plain values. */
  json(): unknown {
    return this.#properties === undefined ? {} : jsonOf(this.#properties)
  }

  inside(node: Node): PropertyReader {
    return new PropertyReader(this.#evaluation, node, node)
  }

  refuse(name: string, message: string): void {
    this.refuseAt(this.at(name), message)
  }

  refuseAt(origin: Origin, message: string): void {
    this.#evaluation.refuse(origin, message)
  }

  warn(name: string, message: string): void {
    this.#evaluation.problems.warning(this.at(name), message)
  }

  #expected(name: string, expected: string, value: Node): undefined {
    this.refuse(name, `${name} must be ${expected}; it is ${describeNode(value)}.`)
    return undefined
  }
}

/** The members of a JSON object as a map. All have the position of the string. */
function parsedMap(text: string, origin: Origin): MapNode | undefined {
  const parsed = parseJsonObject(text)
  const node = parsed === undefined ? undefined : nodeOf(parsed, origin)
  return node?.kind === 'map' ? node : undefined
}

function nodeOf(value: unknown, { at, path }: Origin): Node {
  const origin = { at, path }
  if (Array.isArray(value)) {
    return { kind: 'list', items: value.map((item) => nodeOf(item, origin)), ...origin }
  }
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).map(
      ([key, inner]) => [key, { keyAt: at, value: nodeOf(inner, origin) }] as const,
    )
    return { kind: 'map', entries: new Map(entries), ...origin }
  }
  const known =
    typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
      ? value
      : null
  return { kind: 'scalar', value: known, text: String(known ?? ''), ...origin }
}
