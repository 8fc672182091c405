/** What template functions can use from the evaluator. */
import type { Node, Origin } from './node.ts'
import type { Problems } from './problems.ts'
import type { Resource, Template } from './template.ts'
import type { WorkBudget } from './work-budget.ts'

/** Region, account and inputs of a template. */
export interface Surroundings {
  readonly region: string
  readonly account: string
  /** The base of queue URLs: `http://127.0.0.1:4566`. */
  readonly endpoint: string
  readonly parameters: Readonly<Record<string, string>>
}

export interface Evaluation {
  readonly template: Template
  readonly surroundings: Surroundings
  readonly problems: Problems
  readonly budget: WorkBudget
  /** Resolves all functions in a value. */
  resolve(node: Node): Node
  /** The value of `Ref`. */
  refer(name: string, origin: Origin): Node
  /** The value of `Fn::GetAtt`. */
  attribute(logicalId: string, attribute: string, origin: Origin): Node
  /** The name of a queue or of a function on AWS. */
  nameOf(resource: Resource): Node
  /** Whether a condition is true; undefined if it cannot be evaluated, which is reported. */
  condition(node: Node): boolean | undefined
  importValue(name: string, origin: Origin): Node
  /** Reports an error and returns a broken node. */
  refuse(origin: Origin, message: string): Node
}
