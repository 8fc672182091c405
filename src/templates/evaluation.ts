/** What the functions of a template may ask of whoever evaluates it. */
import type { Node, Origin } from './node.ts'
import type { Problems } from './problems.ts'
import type { Resource, Template } from './template.ts'
import type { WorkBudget } from './work-budget.ts'

/** Where the template goes up, and what it is given from outside. */
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
  /** The value with all functions in it carried out. */
  resolve(node: Node): Node
  /** What `Ref` gives for a name. */
  refer(name: string, origin: Origin): Node
  /** What `Fn::GetAtt` gives. */
  attribute(logicalId: string, attribute: string, origin: Origin): Node
  /** The name of a queue or of a function on AWS. */
  nameOf(resource: Resource): Node
  /** Whether a condition holds; undefined when that cannot be told, which has been reported. */
  condition(node: Node): boolean | undefined
  importValue(name: string, origin: Origin): Node
  /** Reports an error and answers the node that stands for it. */
  refuse(origin: Origin, message: string): Node
}
