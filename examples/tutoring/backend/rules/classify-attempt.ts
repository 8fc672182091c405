/**
 * The rule engine: follows a student's lines from the exercise and stops at the first line that does not follow
 * from the line before. If a known mistake explains that line, the attempt gets its error tag at once. Otherwise
 * the language model classifies it.
 */
import type { Binary, Expression, Step } from '../../math/expression.ts'
import { linearForm, numericValue, sameForm, solve, variablesIn } from '../../math/linear-form.ts'
import { parseStep } from '../../math/parse-step.ts'
import { equal } from '../../math/rational.ts'
import { type Equation, equationMistakes } from './equation-mistakes.ts'
import { expressionMistakes } from './expression-mistakes.ts'
import type { ErrorCode } from './taxonomy.ts'

export interface Verdict {
  readonly isCorrect: boolean
  /** Null for correct answers, and if no rule applies. */
  readonly errorCode: ErrorCode | null
  /** The first wrong line, from 0; null if no line is known to be wrong. */
  readonly wrongLine: number | null
}

const correct: Verdict = { isCorrect: true, errorCode: null, wrongLine: null }
const unclassified: Verdict = { isCorrect: false, errorCode: null, wrongLine: null }

export function classifyAttempt(exercise: string, lines: readonly string[]): Verdict {
  const given = parseStep(exercise)
  const steps = lines.map(parseStep)
  if (given === undefined || lines.length === 0) return unclassified
  return isEquation(given) ? followEquation(given, steps) : followExpression(given[0], steps)
}

function isEquation(step: Step): boolean {
  return step.length === 2 && step.some((side) => variablesIn(side).length > 0)
}

type Steps = readonly (Step | undefined)[]

function followEquation([left, right]: Step, steps: Steps): Verdict {
  let before: Equation | undefined = right && [left, right]
  for (const [line, step] of steps.entries()) {
    const [newLeft, newRight] = step ?? []
    if (before === undefined || newLeft === undefined || newRight === undefined) return unclassified
    const after: Equation = [newLeft, newRight]
    if (!sameSolution(before, after)) return wrong(line, equationMistake(before, after))
    before = after
  }
  return before && isSolved(before) ? correct : notFinished
}

const notFinished: Verdict = { isCorrect: false, errorCode: 'NOT_FINISHED', wrongLine: null }

function wrong(wrongLine: number, errorCode: ErrorCode | undefined): Verdict {
  return { isCorrect: false, errorCode: errorCode ?? null, wrongLine }
}

function sameSolution(before: Equation, after: Equation): boolean {
  const [one, other] = [solve(...before), solve(...after)]
  return one !== undefined && other !== undefined && equal(one, other)
}

function isSolved([left, right]: Equation): boolean {
  return [left, right].some((side) => side.kind === 'variable') && isOneNumber([left, right])
}

function isOneNumber(sides: Equation): boolean {
  return sides.some((side) => isNumber(side))
}

/** A number as an answer is written: `7`, `-7`, `7/2`. */
function isNumber(side: Expression): boolean {
  if (side.kind === 'negative') return isNumber(side.of)
  if (side.kind !== 'binary') return side.kind === 'number'
  return side.operator === '/' && side.left.kind === 'number' && side.right.kind === 'number'
}

function equationMistake(before: Equation, after: Equation): ErrorCode | undefined {
  const between = equationMistakes.find(({ wrong: ways }) =>
    ways(before).some((equation) => sameSolution(equation, after)),
  )
  if (between !== undefined) return between.code
  const [left, right] = before
  const within = expressionMistakes.find(
    ({ wrong: ways }) =>
      replacements(left, ways).some((side) => sameSolution([side, right], after)) ||
      replacements(right, ways).some((side) => sameSolution([left, side], after)),
  )
  return within?.code
}

function followExpression(given: Expression, steps: Steps): Verdict {
  let before = given
  for (const [line, step] of steps.entries()) {
    if (step === undefined) return unclassified
    for (const after of step) {
      if (!sameValue(before, after)) return wrong(line, expressionMistake(before, after))
      before = after
    }
  }
  const isDone = isNumber(before) || numericValue(before) === undefined
  return isDone ? correct : notFinished
}

function sameValue(before: Expression, after: Expression): boolean {
  const [one, other] = [linearForm(before), linearForm(after)]
  return one !== undefined && other !== undefined && sameForm(one, other)
}

function expressionMistake(before: Expression, after: Expression): ErrorCode | undefined {
  const found = expressionMistakes.find(({ wrong: ways }) =>
    replacements(before, ways).some((changed) => sameValue(changed, after)),
  )
  return found?.code
}

/** All versions of the expression with one part done wrong. */
function replacements(
  whole: Expression,
  ways: (part: Binary) => readonly Expression[],
): readonly Expression[] {
  if (whole.kind === 'negative') {
    return replacements(whole.of, ways).map((of) => ({ kind: 'negative', of }))
  }
  if (whole.kind !== 'binary') return []
  return [
    ...ways(whole),
    ...replacements(whole.left, ways).map((left) => ({ ...whole, left })),
    ...replacements(whole.right, ways).map((right) => ({ ...whole, right })),
  ]
}
