/** Numbers and linear forms in LaTeX, as in a textbook. */
import type { Binary, Expression } from './expression.ts'
import type { LinearForm } from './linear-form.ts'
import { absolute, equal, isWhole, isZero, negative, one, type Rational } from './rational.ts'

export function numberToLatex(value: Rational): string {
  if (isWhole(value)) return String(value.top)
  const sign = value.top < 0n ? '-' : ''
  return `${sign}\\frac{${absolute(value.top)}}{${value.bottom}}`
}

/** `3x + 5`, `-x`, `7`. */
export function formToLatex({ slope, constant }: LinearForm, variable: string): string {
  if (isZero(slope)) return numberToLatex(constant)
  const term = termToLatex(slope, variable)
  if (isZero(constant)) return term
  const rest = numberToLatex(constant.top < 0n ? negative(constant) : constant)
  return `${term} ${constant.top < 0n ? '-' : '+'} ${rest}`
}

function termToLatex(slope: Rational, variable: string): string {
  if (equal(slope, one)) return variable
  if (equal(slope, negative(one))) return `-${variable}`
  return `${numberToLatex(slope)}${variable}`
}

/** An expression with only the necessary brackets. */
export function expressionToLatex(expression: Expression): string {
  switch (expression.kind) {
    case 'number':
      return numberToLatex(expression.value)
    case 'variable':
      return expression.name
    case 'negative':
      return `-${bracketed(expression.of, isSum(expression.of))}`
    case 'binary':
      return binaryToLatex(expression)
  }
}

function binaryToLatex({ operator, left, right }: Binary): string {
  if (operator === '/') return `\\frac{${expressionToLatex(left)}}{${expressionToLatex(right)}}`
  if (operator !== '*') {
    const last = bracketed(right, isNegative(right) || (operator === '-' && isSum(right)))
    return `${expressionToLatex(left)} ${operator} ${last}`
  }
  const factors = [left, right].map((side) => bracketed(side, isSum(side) || isNegative(side)))
  // A bracket or a letter needs no sign before it; two numbers do.
  const isPlain = right.kind === 'variable' || factors[1]?.startsWith('(')
  return factors.join(isPlain && left.kind === 'number' ? '' : ' \\cdot ')
}

function bracketed(expression: Expression, isNeeded: boolean): string {
  const latex = expressionToLatex(expression)
  return isNeeded ? `(${latex})` : latex
}

function isSum(expression: Expression): boolean {
  return expression.kind === 'binary' && /[+-]/.test(expression.operator)
}

function isNegative(expression: Expression): boolean {
  if (expression.kind === 'number') return expression.value.top < 0n
  return expression.kind === 'negative'
}
