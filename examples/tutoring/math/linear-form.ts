/** An expression as `slope · x + constant`. The exercises need nothing else. */
import type { Expression } from './expression.ts'
import {
  add,
  divide,
  equal,
  isZero,
  multiply,
  negative,
  one,
  type Rational,
  subtract,
  zero,
} from './rational.ts'

export interface LinearForm {
  readonly slope: Rational
  readonly constant: Rational
}

/** Undefined if it is not linear, has two unknowns, or divides by zero. */
export function linearForm(expression: Expression): LinearForm | undefined {
  return new Set(variablesIn(expression)).size > 1 ? undefined : formOf(expression)
}

/** The value of an expression without an unknown. */
export function numericValue(expression: Expression): Rational | undefined {
  const form = linearForm(expression)
  return form && isZero(form.slope) ? form.constant : undefined
}

/** The value of the unknown that makes both sides equal; undefined if there is none, or more than one. */
export function solve(left: Expression, right: Expression): Rational | undefined {
  const both = new Set([...variablesIn(left), ...variablesIn(right)])
  const [one, other] = [formOf(left), formOf(right)]
  if (both.size > 1 || one === undefined || other === undefined) return undefined
  return divide(subtract(other.constant, one.constant), subtract(one.slope, other.slope))
}

export function sameForm(left: LinearForm, right: LinearForm): boolean {
  return equal(left.slope, right.slope) && equal(left.constant, right.constant)
}

export function variablesIn(expression: Expression): readonly string[] {
  switch (expression.kind) {
    case 'number':
      return []
    case 'variable':
      return [expression.name]
    case 'negative':
      return variablesIn(expression.of)
    case 'binary':
      return [...variablesIn(expression.left), ...variablesIn(expression.right)]
  }
}

function formOf(expression: Expression): LinearForm | undefined {
  if (expression.kind === 'number') return { slope: zero, constant: expression.value }
  if (expression.kind === 'variable') return { slope: one, constant: zero }
  if (expression.kind === 'negative') {
    const form = formOf(expression.of)
    return form && { slope: negative(form.slope), constant: negative(form.constant) }
  }
  const [left, right] = [formOf(expression.left), formOf(expression.right)]
  if (left === undefined || right === undefined) return undefined
  switch (expression.operator) {
    case '+':
      return { slope: add(left.slope, right.slope), constant: add(left.constant, right.constant) }
    case '-':
      return {
        slope: subtract(left.slope, right.slope),
        constant: subtract(left.constant, right.constant),
      }
    case '*':
      return isZero(left.slope) ? scaled(right, left.constant) : times(left, right)
    case '/': {
      const factor = isZero(right.slope) ? divide(one, right.constant) : undefined
      return factor && scaled(left, factor)
    }
  }
}

function times(left: LinearForm, right: LinearForm): LinearForm | undefined {
  return isZero(right.slope) ? scaled(left, right.constant) : undefined
}

function scaled({ slope, constant }: LinearForm, factor: Rational): LinearForm {
  return { slope: multiply(slope, factor), constant: multiply(constant, factor) }
}
