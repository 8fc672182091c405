/**
 * Mistakes within an expression. Each takes a part of it and returns what a student who makes this mistake would
 * write instead.
 */
import { type Binary, binary, type Expression, number } from '../../math/expression.ts'
import { linearForm, numericValue } from '../../math/linear-form.ts'
import { absolute, add, isWhole, isZero, rational } from '../../math/rational.ts'
import type { Mistake } from './taxonomy.ts'

/** In the order in which they are tried, the most specific first. */
export const expressionMistakes: readonly Mistake<Binary, Expression>[] = [
  { code: 'FRACTION_ADD_ACROSS', wrong: addAcross },
  { code: 'DISTRIBUTE_FIRST_ONLY', wrong: distributeFirstOnly },
  { code: 'NEGATIVE_NOT_DISTRIBUTED', wrong: keepSecondSign },
  { code: 'ORDER_OF_OPERATIONS', wrong: fromLeftToRight },
  { code: 'ADD_CARRY_OMITTED', wrong: forgetCarries },
  { code: 'SUB_SMALLER_FROM_LARGER', wrong: smallerFromLarger },
  { code: 'SUB_BORROW_NOT_PAID', wrong: borrowForFree },
  { code: 'TIMES_TABLE_SLIP', wrong: neighbourInTable },
  { code: 'UNLIKE_TERMS_COMBINED', wrong: combineUnlikeTerms },
  { code: 'OPERATION_SWAPPED', wrong: swapOperation },
]

function addAcross({ operator, left, right }: Binary): readonly Expression[] {
  if (operator !== '+' || !isFraction(left) || !isFraction(right)) return []
  return [binary('/', binary('+', left.left, right.left), binary('+', left.right, right.right))]
}

function isFraction(expression: Expression): expression is Binary {
  return expression.kind === 'binary' && expression.operator === '/'
}

function isSum(expression: Expression): expression is Binary {
  return expression.kind === 'binary' && /[+-]/.test(expression.operator)
}

function distributeFirstOnly({ operator, left, right }: Binary): readonly Expression[] {
  if (operator !== '*') return []
  return [
    ...(isSum(right) ? [binary(right.operator, binary('*', left, right.left), right.right)] : []),
    ...(isSum(left) ? [binary(left.operator, binary('*', left.left, right), left.right)] : []),
  ]
}

function keepSecondSign({ operator, left, right }: Binary): readonly Expression[] {
  if (operator !== '-' || !isSum(right)) return []
  return [binary(right.operator, binary('-', left, right.left), right.right)]
}

/** `2 + 3 * 4` as `(2 + 3) * 4`. */
function fromLeftToRight({ operator, left, right }: Binary): readonly Expression[] {
  if (!/[+-]/.test(operator) || right.kind !== 'binary' || !/[*/]/.test(right.operator)) return []
  return [binary(right.operator, binary(operator, left, right.left), right.right)]
}

function combineUnlikeTerms({ operator, left, right }: Binary): readonly Expression[] {
  const [one, other] = [linearForm(left), linearForm(right)]
  if (operator !== '+' || one === undefined || other === undefined) return []
  const variable = variableOf(left) ?? variableOf(right)
  const isUnlike = isZero(one.slope) !== isZero(other.slope)
  if (variable === undefined || !isUnlike) return []
  const coefficient = add(add(one.slope, one.constant), add(other.slope, other.constant))
  return [binary('*', number(coefficient), variable)]
}

function variableOf(expression: Expression): Expression | undefined {
  if (expression.kind === 'variable') return expression
  if (expression.kind === 'negative') return variableOf(expression.of)
  if (expression.kind === 'number') return undefined
  return variableOf(expression.left) ?? variableOf(expression.right)
}

/** The two numbers of an operation, if it has natural numbers on both sides. */
function naturals({ left, right }: Binary): readonly [bigint, bigint] | undefined {
  const [one, other] = [numericValue(left), numericValue(right)]
  if (one === undefined || other === undefined) return undefined
  const areNatural = [one, other].every((value) => isWhole(value) && value.top >= 0n)
  return areNatural ? [one.top, other.top] : undefined
}

type Column = (top: number, bottom: number) => number

/** Computes column by column, without carrying. */
function byColumns(part: Binary, column: Column): readonly Expression[] {
  const numbers = naturals(part)
  if (numbers === undefined) return []
  const [top, bottom] = numbers.map(String)
  const width = Math.max(top?.length ?? 0, bottom?.length ?? 0)
  const digits = Array.from({ length: width }, (_, index) =>
    column(digitAt(top, width, index), digitAt(bottom, width, index)),
  )
  return [number(rational(BigInt(digits.join(''))))]
}

function digitAt(digits: string | undefined, width: number, index: number): number {
  return Number((digits ?? '').padStart(width, '0')[index])
}

function forgetCarries(part: Binary): readonly Expression[] {
  return part.operator === '+' ? byColumns(part, (top, bottom) => (top + bottom) % 10) : []
}

function smallerFromLarger(part: Binary): readonly Expression[] {
  return part.operator === '-' ? byColumns(part, (top, bottom) => Math.abs(top - bottom)) : []
}

function borrowForFree(part: Binary): readonly Expression[] {
  if (part.operator !== '-') return []
  return byColumns(part, (top, bottom) => (top < bottom ? top + 10 - bottom : top - bottom))
}

function neighbourInTable(part: Binary): readonly Expression[] {
  const numbers = naturals(part)
  if (part.operator !== '*' || numbers === undefined) return []
  const [left, right] = numbers
  if (left > 12n || right > 12n) return []
  const neighbours = [
    left * (right - 1n),
    left * (right + 1n),
    (left - 1n) * right,
    (left + 1n) * right,
  ]
  return neighbours.map((value) => number(rational(absolute(value))))
}

function swapOperation({ operator, left, right }: Binary): readonly Expression[] {
  const others = { '+': ['-', '*'], '-': ['+'], '*': ['+', '/'], '/': ['*', '-'] } as const
  const areNumbers = [left, right].every((side) => numericValue(side) !== undefined)
  return areNumbers ? others[operator].map((other) => binary(other, left, right)) : []
}
