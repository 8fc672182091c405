/** Solves a question step by step, like a solution key. */
import { binary, type Expression, number } from '../math/expression.ts'
import { type LinearForm, linearForm, numericValue, variablesIn } from '../math/linear-form.ts'
import { parseStep } from '../math/parse-step.ts'
import { divide, isZero, type Rational, subtract, zero } from '../math/rational.ts'
import { expressionToLatex, formToLatex, numberToLatex } from '../math/to-latex.ts'

/** The lines after the question; the last one is the answer. */
export function solveQuestion(statement: string): readonly string[] {
  const [left, right] = parseStep(statement) ?? []
  if (left === undefined) throw new Error('The question cannot be read.')
  const lines = right === undefined ? workOut(left) : solveEquation(left, right)
  const given = compact(statement)
  return lines.filter((line, index) => index === lines.length - 1 || compact(line) !== given)
}

function compact(text: string): string {
  return text.replace(/\s/g, '')
}

function solveEquation(left: Expression, right: Expression): readonly string[] {
  const [variable = 'x'] = [...variablesIn(left), ...variablesIn(right)]
  const [one, other] = [linearForm(left), linearForm(right)]
  const slope = one && other && subtract(one.slope, other.slope)
  const constant = one && other && subtract(other.constant, one.constant)
  const value = slope && constant && divide(constant, slope)
  if (!one || !other || !slope || !constant || !value) {
    throw new Error('The equation has no single solution.')
  }
  const equation = (from: LinearForm, to: LinearForm): string =>
    `${formToLatex(from, variable)} = ${formToLatex(to, variable)}`
  const lines = [
    equation(one, other),
    equation({ slope, constant: zero }, { slope: zero, constant }),
    `${variable} = ${numberToLatex(value)}`,
  ]
  return lines.filter((line, index) => line !== lines[index - 1])
}

/** One operation after the other, in order of precedence. */
function workOut(expression: Expression): readonly string[] {
  const lines: string[] = []
  for (let rest = expression; rest.kind !== 'number'; ) {
    const next = reduced(rest)
    if (next === undefined) return [...lines, simplified(rest)]
    rest = next
    lines.push(expressionToLatex(rest))
  }
  return lines.length > 0 ? lines : [expressionToLatex(expression)]
}

/** Computes the first operation on two numbers. */
function reduced(expression: Expression): Expression | undefined {
  if (expression.kind === 'negative') {
    const value = numericValue(expression)
    if (expression.of.kind === 'number' && value !== undefined) return number(value)
    const of = reduced(expression.of)
    return of && { kind: 'negative', of }
  }
  if (expression.kind !== 'binary') return undefined
  const { operator, left, right } = expression
  const isReady = left.kind === 'number' && right.kind === 'number'
  if (isReady) return numberOf(numericValue(expression))
  const newLeft = reduced(left)
  if (newLeft !== undefined) return binary(operator, newLeft, right)
  const newRight = reduced(right)
  return newRight && binary(operator, left, newRight)
}

function numberOf(value: Rational | undefined): Expression {
  if (value === undefined) throw new Error('The question divides by zero.')
  return number(value)
}

/** Simplifies an expression with an unknown. */
function simplified(expression: Expression): string {
  const form = linearForm(expression)
  const [variable = 'x'] = variablesIn(expression)
  if (form === undefined) throw new Error('The question is not linear.')
  return isZero(form.slope) ? numberToLatex(form.constant) : formToLatex(form, variable)
}
