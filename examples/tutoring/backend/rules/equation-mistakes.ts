/**
 * Mistakes between two equations. Each takes an equation and returns what a student who makes this mistake might
 * write on the next line.
 */
import { binary, type Expression, number } from '../../math/expression.ts'
import { linearForm, numericValue } from '../../math/linear-form.ts'
import { isZero, type Rational, zero } from '../../math/rational.ts'
import type { Mistake } from './taxonomy.ts'

export type Equation = readonly [left: Expression, right: Expression]

export const equationMistakes: readonly Mistake<Equation, Equation>[] = [
  { code: 'COEFFICIENT_SUBTRACTED', wrong: subtractCoefficient },
  { code: 'DIVISION_INVERTED', wrong: invertDivision },
  { code: 'TRANSPOSE_SIGN_KEPT', wrong: keepSign },
  { code: 'ONE_SIDE_ONLY', wrong: changeOneSide },
]

function keepSign(equation: Equation): readonly Equation[] {
  return removals(equation).map(({ term, from, to }) => [from, binary('+', to, term)])
}

function changeOneSide(equation: Equation): readonly Equation[] {
  const withoutTerm = removals(equation).map(({ from, to }): Equation => [from, to])
  const product = asProduct(equation)
  return product ? [...withoutTerm, [product.variable, number(product.value)]] : withoutTerm
}

function subtractCoefficient(equation: Equation): readonly Equation[] {
  const product = asProduct(equation)
  if (product === undefined) return []
  const { variable, coefficient, value } = product
  return [[variable, binary('-', number(value), number(coefficient))]]
}

function invertDivision(equation: Equation): readonly Equation[] {
  const product = asProduct(equation)
  if (product === undefined || isZero(product.value)) return []
  const { variable, coefficient, value } = product
  return [[variable, binary('/', number(coefficient), number(value))]]
}

interface Removal {
  readonly term: Expression
  /** The side of the term, without it. */
  readonly from: Expression
  readonly to: Expression
}

/** Every way to remove one term from one side. */
function removals([left, right]: Equation): readonly Removal[] {
  return [...removalsFrom(left, right), ...removalsFrom(right, left)]
}

function removalsFrom(side: Expression, to: Expression): readonly Removal[] {
  const terms = termsOf(side)
  if (terms.length < 2) return []
  return terms.map((term, index) => {
    const rest = terms.filter((_, other) => other !== index)
    const from = rest.reduce((sum, one) => binary('+', sum, one), number(zero))
    return { term, from, to }
  })
}

/** The terms of a sum with their signs. */
function termsOf(side: Expression): readonly Expression[] {
  if (side.kind !== 'binary' || !/[+-]/.test(side.operator)) return [side]
  const last: Expression = side.operator === '-' ? { kind: 'negative', of: side.right } : side.right
  return [...termsOf(side.left), last]
}

interface Product {
  readonly variable: Expression
  readonly coefficient: Rational
  readonly value: Rational
}

/** `3x = 15`, either way round. */
function asProduct([left, right]: Equation): Product | undefined {
  return productOf(left, right) ?? productOf(right, left)
}

function productOf(side: Expression, other: Expression): Product | undefined {
  const [form, value] = [linearForm(side), numericValue(other)]
  if (form === undefined || value === undefined) return undefined
  if (isZero(form.slope) || !isZero(form.constant)) return undefined
  return { variable: { kind: 'variable', name: 'x' }, coefficient: form.slope, value }
}
