/**
 * Resolves the variables of serverless.yml on demand. A value may contain further variables, so it is
 * resolved until it is plain. Cycles are reported.
 */
import {
  brokenNode,
  describeNode,
  listNode,
  type MapEntry,
  movedTo,
  type Node,
  type Origin,
  type ScalarNode,
  scalarNode,
} from './node.ts'
import type { Problems } from './problems.ts'
import { concatenate } from './texts.ts'
import { elsewhere, type SourceContext, stepInto, variableSources } from './variable-sources.ts'
import {
  hasVariables,
  type NamedSource,
  parseVariables,
  type Segment,
  type Source,
  type Variable,
  VariableSyntaxError,
} from './variable-syntax.ts'
import type { WorkBudget } from './work-budget.ts'

export interface VariablesOptions
  extends Omit<SourceContext, 'lookUp' | 'lookUpIn' | 'refuse' | 'stage'> {
  readonly document: Node
  /** From the command line. Default: the stage in the document. */
  readonly stage: string | undefined
  readonly problems: Problems
  readonly budget: WorkBudget
}

/** Sources that need AWS services, plugins or git. */
const remoteSources = [
  'ssm',
  'cf',
  's3',
  'secretsManager',
  'secretsmanager',
  'git',
  'output',
  'terraform',
  'vault',
  'doppler',
]

export class ServerlessVariables {
  readonly #options: VariablesOptions
  readonly #resolved = new Map<Node, Node>()
  readonly #busy = new Set<Node>()
  readonly #expanding = new Set<Node>()
  #stage: string | undefined

  constructor(options: VariablesOptions) {
    this.#options = options
  }

  get stage(): string {
    this.#stage ??= this.#options.stage ?? this.#declaredStage()
    return this.#stage
  }

  /** Resolves the value itself, but not the values inside it. */
  shallow(node: Node): Node {
    const text = node.kind === 'scalar' && typeof node.value === 'string' ? node.value : ''
    if (node.kind !== 'scalar' || !hasVariables(text)) return node
    const known = this.#resolved.get(node)
    if (known !== undefined) return known
    if (this.#busy.has(node)) return this.refuse(node, 'This variable refers to itself.')
    this.#busy.add(node)
    try {
      const value = this.#evaluate(text, node)
      if (value.kind !== 'broken' || this.#options.problems.areReported) {
        this.#resolved.set(node, value)
      }
      return value
    } finally {
      this.#busy.delete(node)
    }
  }

  /** Resolves the value and everything inside it. */
  deep(node: Node): Node {
    this.#options.budget.step()
    const value = this.shallow(node)
    if (value === node) return this.#inside(value)
    if (value.kind !== 'list' && value.kind !== 'map') return value
    if (this.#expanding.has(node)) return this.refuse(node, 'This variable refers to itself.')
    this.#expanding.add(node)
    try {
      return this.#inside(value)
    } finally {
      this.#expanding.delete(node)
    }
  }

  /** Follows a path of keys; returns undefined if there is no value. */
  lookUp(address: string): Node | undefined {
    if (address === 'provider.stage') return scalarNode(this.stage, this.#options.document)
    return this.#lookUpIn(this.#options.document, address)
  }

  refuse(origin: Origin, message: string): Node {
    this.#options.problems.error(origin, message)
    return brokenNode(origin)
  }

  #inside(node: Node): Node {
    if (node.kind === 'list')
      return listNode(
        node.items.map((item) => this.deep(item)),
        node,
      )
    if (node.kind !== 'map') return node
    const entries = new Map<string, MapEntry>()
    for (const [key, { keyAt, value }] of node.entries) {
      entries.set(key, { keyAt, value: this.deep(value) })
    }
    return { ...node, entries }
  }

  #lookUpIn(document: Node, address: string): Node | undefined {
    let node: Node | undefined = document
    for (const key of address === '' ? [] : address.split('.')) {
      node = stepInto(this.shallow(node), key)
      if (node === undefined) return undefined
    }
    const value = this.shallow(node)
    return value.kind === 'scalar' && value.value === null ? undefined : value
  }

  #evaluate(text: string, origin: ScalarNode): Node {
    const segments = this.#parsed(text, origin)
    if (segments === undefined) return brokenNode(origin)
    if (segments.every((segment) => typeof segment === 'string')) return origin
    const [first] = segments
    if (segments.length === 1 && typeof first === 'object') {
      return movedTo(this.#variable(first, origin), origin)
    }
    return this.#text(segments, origin)
  }

  #parsed(text: string, origin: Origin): readonly Segment[] | undefined {
    try {
      return parseVariables(text)
    } catch (error) {
      if (!(error instanceof VariableSyntaxError)) throw error
      this.refuse(origin, `The variable is not valid: ${error.message}.`)
      return undefined
    }
  }

  #text(segments: readonly Segment[], origin: Origin): Node {
    const parts = segments.map((segment) =>
      typeof segment === 'string' ? scalarNode(segment, origin) : this.#variable(segment, origin),
    )
    const { budget } = this.#options
    return concatenate({ budget, refuse: (at, message) => this.refuse(at, message) }, parts, origin)
  }

  #variable(variable: Variable, origin: Origin): Node {
    this.#options.budget.step()
    let unreachable: Node | undefined
    for (const source of variable.sources) {
      const value = this.#source(source, origin)
      if (value?.kind === 'opaque') unreachable ??= value
      else if (value !== undefined) {
        if (unreachable !== undefined) this.#tellFallback(unreachable, origin)
        return value
      }
    }
    return unreachable ?? this.#missing(variable, origin)
  }

  #source(source: Source, origin: Origin): Node | undefined {
    if ('literal' in source) return scalarNode(source.literal, origin)
    if ('sources' in source) return this.#variable(source, origin)
    return this.#named(source, origin)
  }

  #named({ type, argument, address }: NamedSource, origin: Origin): Node | undefined {
    const given = argument === undefined ? undefined : this.#text(argument, origin)
    const where = this.#text(address ?? [], origin)
    for (const part of [given, where]) {
      if (part !== undefined && part.kind !== 'scalar') return part
    }
    const request = {
      argument: given?.kind === 'scalar' ? given.text : undefined,
      address: where.kind === 'scalar' ? where.text : '',
      origin,
    }
    const read = Object.hasOwn(variableSources, type) ? variableSources[type] : undefined
    if (read !== undefined) return read(this.#context(), request)
    if (remoteSources.includes(type)) return elsewhere(type, request)
    return this.refuse(origin, `The variable source '${type.slice(0, 40)}' is not supported.`)
  }

  #context(): SourceContext {
    return {
      ...this.#options,
      stage: this.stage,
      lookUp: (address) => this.lookUp(address),
      lookUpIn: (document, address) => this.#lookUpIn(document, address),
      refuse: (origin, message) => this.refuse(origin, message),
    }
  }

  /** `provider.stage` is often `${opt:stage, 'dev'}`, which must not read the stage again. */
  #declaredStage(): string {
    this.#stage = 'dev'
    const declared = this.#lookUpIn(this.#options.document, 'provider.stage')
    return declared?.kind === 'scalar' ? declared.text : 'dev'
  }

  #tellFallback(unreachable: Node, origin: Origin): void {
    this.#options.problems.warning(
      origin,
      `${describeNode(unreachable)} is not available here; the fallback is used.`,
    )
  }

  #missing({ sources, text }: Variable, origin: Origin): Node {
    const shown = text.length > 80 ? `${text.slice(0, 80)}…` : text
    return this.refuse(origin, `${shown} has no value.${howToGive(sources)}`)
  }
}

function howToGive(sources: readonly Source[]): string {
  for (const source of sources) {
    if (!('type' in source)) continue
    const [name] = source.address ?? []
    if (typeof name !== 'string') continue
    if (source.type === 'env') return ` Set ${name} in the environment.`
    if (source.type === 'param') return ` Use --param ${name}=…`
    if (source.type === 'opt') return name === 'stage' ? ' Use --stage …' : ` Use --opt ${name}=…`
  }
  return ''
}
