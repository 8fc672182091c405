/**
 * Compares a student's lines with the lines of the solution (its checkpoints): how far the work follows them,
 * where the first error is, and the score.
 */
import type { Expression, Step } from '../math/expression.ts'
import { linearForm, sameForm, solve, variablesIn } from '../math/linear-form.ts'
import { parseStep } from '../math/parse-step.ts'
import { equal } from '../math/rational.ts'
import { expressionToLatex } from '../math/to-latex.ts'

export interface Alignment {
  /** `solution`: as in the key. `other`: correct, in another way. Otherwise: what is wrong. */
  readonly path: 'solution' | 'other' | 'wrong' | 'unfinished' | 'unreadable'
  /** The first checkpoint that was not reached, from 0. */
  readonly first_error_checkpoint: number | null
  readonly score_0_1: number
}

export interface WorkBesideSolution {
  readonly statement: string
  readonly solution: readonly string[]
  readonly lines: readonly string[]
}

export function alignSteps({ statement, solution, lines }: WorkBesideSolution): Alignment {
  const given = stepIn(statement)
  const checkpoints = solution.map(stepIn)
  const work = lines.map(parseStep)
  const firstWrong = work.findIndex((step) => step === undefined || !follows(given, step))
  const right = work.slice(0, firstWrong < 0 ? work.length : firstWrong) as readonly Step[]
  const reached = 1 + checkpoints.findLastIndex((one) => right.some((step) => sameLine(one, step)))
  if (firstWrong < 0 && reached === checkpoints.length) {
    const isByTheKey = right.every((step) => checkpoints.some((one) => sameLine(one, step)))
    return { path: isByTheKey ? 'solution' : 'other', first_error_checkpoint: null, score_0_1: 1 }
  }
  return {
    path: firstWrong < 0 ? 'unfinished' : work[firstWrong] ? 'wrong' : 'unreadable',
    first_error_checkpoint: Math.min(reached, checkpoints.length - 1),
    // The last checkpoint is the answer, which was not reached without an error.
    score_0_1: Math.min(reached, checkpoints.length - 1) / checkpoints.length,
  }
}

function stepIn(text: string): Step {
  const step = parseStep(text)
  if (step === undefined) throw new Error('The question or its solution cannot be parsed.')
  return step
}

/** Whether a line is equivalent to the question. */
function follows(given: Step, step: Step): boolean {
  const [left, right] = given
  if (right === undefined || given.every((side) => variablesIn(side).length === 0)) {
    return step.every((side) => areSame(left, side))
  }
  const [newLeft, newRight] = step
  const [before, after] = [solve(left, right), newRight && solve(newLeft, newRight)]
  return before !== undefined && after !== undefined && equal(before, after)
}

function sameLine(checkpoint: Step, step: Step): boolean {
  const [left, right] = checkpoint
  const [newLeft, newRight] = step
  if (right === undefined) return written(checkpoint) === written(step)
  if (newRight === undefined) return false
  return (
    (areSame(left, newLeft) && areSame(right, newRight)) ||
    (areSame(left, newRight) && areSame(right, newLeft))
  )
}

/** Accepts `47 + 38 = 85` as well as `85`. */
function written(step: Step): string {
  return expressionToLatex(step.at(-1) ?? step[0])
}

function areSame(left: Expression, right: Expression): boolean {
  const [one, other] = [linearForm(left), linearForm(right)]
  return one !== undefined && other !== undefined && sameForm(one, other)
}
