/** Expressions of numbers and one unknown, and equations between them. */
import type { Rational } from './rational.ts'

export type Operator = '+' | '-' | '*' | '/'

export type Expression =
  | { readonly kind: 'number'; readonly value: Rational }
  | { readonly kind: 'variable'; readonly name: string }
  | { readonly kind: 'negative'; readonly of: Expression }
  | Binary

export interface Binary {
  readonly kind: 'binary'
  readonly operator: Operator
  readonly left: Expression
  readonly right: Expression
}

/** The sides of `a = b = c`, in order. A single side is an expression. */
export type Step = readonly [Expression, ...Expression[]]

export function number(value: Rational): Expression {
  return { kind: 'number', value }
}

export function binary(operator: Operator, left: Expression, right: Expression): Binary {
  return { kind: 'binary', operator, left, right }
}
