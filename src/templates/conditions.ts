/** Evaluates the conditions of a template: `Fn::Equals`, `Fn::And`, `Fn::Or` and `Fn::Not`. */
import type { Evaluation } from './evaluation.ts'
import { describeNode, type Node, valueAt } from './node.ts'

type Answer = boolean | undefined

/** Evaluates a condition by name. The caller guards against cycles. */
export type NamedCondition = (name: string, from: Node) => Answer

/** Returns undefined if the condition cannot be evaluated, which is reported. */
export function evaluateCondition(
  evaluation: Evaluation,
  node: Node,
  named: NamedCondition,
): Answer {
  evaluation.budget.step()
  if (node.kind === 'broken') return undefined
  if (node.kind === 'scalar') {
    if (typeof node.value === 'boolean') return node.value
    return named(node.text, node)
  }
  const all = (items: readonly Node[]): readonly Answer[] =>
    items.map((item) => evaluateCondition(evaluation, item, named))
  const [name, argument] = callOf(node)
  const items = argument?.kind === 'list' ? argument.items : []
  if (name === 'Condition' && argument?.kind === 'scalar') return named(argument.text, argument)
  if (name === 'Fn::Equals' && items.length === 2) return areEqual(evaluation, items)
  if (name === 'Fn::Not' && items.length === 1) return negated(all(items)[0])
  if (name === 'Fn::And' && items.length > 0) return combined(all(items), false)
  if (name === 'Fn::Or' && items.length > 0) return combined(all(items), true)
  evaluation.refuse(
    node,
    `Expected a condition: its name, or Fn::Equals, Fn::And, Fn::Or or Fn::Not with its values; got ${describeNode(node)}.`,
  )
  return undefined
}

function callOf(node: Node): readonly [string | undefined, Node | undefined] {
  if (node.kind !== 'map' || node.entries.size !== 1) return [undefined, undefined]
  const [name] = node.entries.keys()
  return [name, name === undefined ? undefined : valueAt(node, name)]
}

function areEqual(evaluation: Evaluation, items: readonly Node[]): Answer {
  const texts: string[] = []
  for (const item of items) {
    const value = evaluation.resolve(item)
    if (value.kind === 'scalar') texts.push(value.text)
    else if (value.kind === 'broken') return undefined
    else {
      evaluation.refuse(item, `Fn::Equals needs two known strings; got ${describeNode(value)}.`)
      return undefined
    }
  }
  return texts[0] === texts[1]
}

function negated(answer: Answer): Answer {
  return answer === undefined ? undefined : !answer
}

/** `decisive` is the value that decides the result alone. */
function combined(answers: readonly Answer[], decisive: boolean): Answer {
  if (answers.includes(decisive)) return decisive
  return answers.includes(undefined) ? undefined : !decisive
}
