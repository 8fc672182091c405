/**
 * Evaluates the values of a template on demand. Resources that are not needed (a role, a bucket) may refer to
 * anything.
 */
import { didYouMean } from '../core/did-you-mean.ts'
import { evaluateCondition } from './conditions.ts'
import type { Evaluation, Surroundings } from './evaluation.ts'
import { callIntrinsic, isCall } from './intrinsics.ts'
import {
  brokenNode,
  listNode,
  type MapEntry,
  type MapNode,
  type Node,
  type Origin,
  opaqueNode,
  valueAt,
} from './node.ts'
import { parameterValue, pseudoParameter } from './parameters.ts'
import type { Problems } from './problems.ts'
import { attributeOf, declaredName, referenceTo } from './references.ts'
import type { Resource, Template } from './template.ts'
import type { WorkBudget } from './work-budget.ts'

/** With more names, a "did you mean" hint would take too long. */
const hintsMax = 500
const nameLengthMax = 80

export interface EvaluatorOptions {
  readonly template: Template
  readonly surroundings: Surroundings
  readonly problems: Problems
  readonly budget: WorkBudget
  /** Exports of other templates of the same set. */
  readonly imported: (name: string) => Node | undefined
}

export class Evaluator implements Evaluation {
  readonly template: Template
  readonly surroundings: Surroundings
  readonly problems: Problems
  readonly budget: WorkBudget
  readonly #imported: (name: string) => Node | undefined
  readonly #busy = new Set<string>()
  readonly #conditions = new Map<string, boolean | undefined>()
  readonly #names = new Map<string, Node>()

  constructor({ template, surroundings, problems, budget, imported }: EvaluatorOptions) {
    this.template = template
    this.surroundings = surroundings
    this.budget = budget
    this.problems = problems
    this.#imported = imported
  }

  resolve(node: Node): Node {
    const value = this.#resolve(node)
    const isDynamic = value.kind === 'scalar' && value.text.includes('{{resolve:')
    return isDynamic ? opaqueNode(value.text, 'a dynamic reference', value) : value
  }

  #resolve(node: Node): Node {
    this.budget.step()
    if (node.kind === 'list') {
      const items = node.items.map((item) => this.resolve(item))
      return listNode(
        items.filter(({ kind }) => kind !== 'absent'),
        node,
      )
    }
    if (node.kind !== 'map') return node
    return isCall(node) ? callIntrinsic(this, node) : this.#resolveMap(node)
  }

  refer(name: string, origin: Origin): Node {
    const { parameters, resources } = this.template
    const pseudo = pseudoParameter(this, name, origin)
    if (pseudo !== undefined) return pseudo
    if (valueAt(parameters, name) !== undefined) return parameterValue(this, name, origin)
    const resource = resources.get(name)
    if (resource === undefined) return this.#unknown(name, origin)
    return this.#existing(resource, origin) ?? referenceTo(this, resource, origin)
  }

  attribute(logicalId: string, attribute: string, origin: Origin): Node {
    const resource = this.template.resources.get(logicalId)
    if (resource === undefined) return this.#unknown(logicalId, origin)
    return this.#existing(resource, origin) ?? attributeOf(this, resource, attribute, origin)
  }

  nameOf(resource: Resource): Node {
    const remembered = this.#names.get(resource.logicalId)
    if (remembered !== undefined) return remembered
    const name = this.#guarded(`name ${resource.logicalId}`, resource, () =>
      declaredName(this, resource),
    )
    const known = name ?? brokenNode(resource)
    if (known.kind !== 'broken' || this.problems.areReported) {
      this.#names.set(resource.logicalId, known)
    }
    return known
  }

  condition(node: Node): boolean | undefined {
    return evaluateCondition(this, node, (name, from) => this.#namedCondition(name, from))
  }

  /** Whether a resource is created. If its condition cannot be evaluated, it is left out. */
  exists({ condition }: Resource): boolean {
    return condition === undefined || this.condition(condition) === true
  }

  importValue(name: string, origin: Origin): Node {
    const value = this.#guarded(`import ${name}`, origin, () => this.#imported(name))
    if (value !== undefined) return value
    return this.refuse(
      origin,
      `No template here exports '${name}'. Replace the import with a fixed value.`,
    )
  }

  refuse(origin: Origin, message: string): Node {
    this.problems.error(origin, message)
    return brokenNode(origin)
  }

  #resolveMap(node: MapNode): Node {
    const entries = new Map<string, MapEntry>()
    for (const [key, { keyAt, value }] of node.entries) {
      const resolved = this.resolve(value)
      if (resolved.kind !== 'absent') entries.set(key, { keyAt, value: resolved })
    }
    return { kind: 'map', entries, at: node.at, path: node.path }
  }

  #namedCondition(name: string, from: Node): boolean | undefined {
    if (this.#conditions.has(name)) return this.#conditions.get(name)
    const declared = valueAt(this.template.conditions, name)
    if (declared === undefined) {
      this.refuse(from, `The condition '${name}' does not exist.`)
      return undefined
    }
    const holds = this.#guarded(`condition ${name}`, from, () => this.condition(declared))
    if (holds !== undefined || this.problems.areReported) this.#conditions.set(name, holds)
    return holds
  }

  /** Returns a broken node if the resource is not created, otherwise undefined. */
  #existing(resource: Resource, origin: Origin): Node | undefined {
    if (resource.condition === undefined) return undefined
    const holds = this.condition(resource.condition)
    if (holds === true) return undefined
    if (holds === undefined) return brokenNode(origin)
    return this.refuse(origin, `'${resource.logicalId}' is not created: its condition is false.`)
  }

  #unknown(name: string, origin: Origin): Node {
    if (this.template.generatedIds?.test(name)) {
      return opaqueNode(
        `{{${name}}}`,
        `${name}, which the framework generates at deployment`,
        origin,
      )
    }
    const known = [...this.template.resources.keys()].slice(0, hintsMax)
    const hint = name.length > nameLengthMax ? '' : didYouMean(name, known)
    const shown = name.slice(0, nameLengthMax)
    return this.refuse(origin, `The parameter or resource '${shown}' does not exist${hint || '.'}`)
  }

  /** Detects a value that depends on itself. */
  #guarded<Value>(key: string, origin: Origin, run: () => Value): Value | undefined {
    if (this.#busy.has(key)) {
      this.refuse(origin, 'This value refers to itself.')
      return undefined
    }
    this.#busy.add(key)
    try {
      return run()
    } finally {
      this.#busy.delete(key)
    }
  }
}
