/**
 * Classifies work in place of the model: it compares the last line with the correct answer. It is much weaker than
 * a language model, but deterministic.
 */
import type { Step } from '../math/expression.ts'
import { numericValue, solve } from '../math/linear-form.ts'
import { parseStep } from '../math/parse-step.ts'
import { absolute, isZero, type Rational, subtract } from '../math/rational.ts'

export interface Judgement {
  readonly error_code: string
  readonly confidence: number
}

/** Takes the prompt of the classifier: `Exercise: …` on the first line, and the work below. */
export function judgeWork(prompt: string): Judgement {
  const [first = '', , ...work] = prompt.split('\n')
  const expected = answerOf(parseStep(first.replace(/^Exercise:/, '')))
  const given = answerOf(parseStep(work.at(-1) ?? ''))
  if (expected === undefined || given === undefined) {
    return { error_code: 'UNREADABLE', confidence: 0.9 }
  }
  if (digitsOf(expected) === digitsOf(given)) {
    return { error_code: 'DIGITS_TRANSPOSED', confidence: 0.8 }
  }
  return isClose(expected, given)
    ? { error_code: 'CALCULATION_SLIP', confidence: 0.7 }
    : { error_code: 'CONCEPT_NOT_UNDERSTOOD', confidence: 0.5 }
}

function answerOf(step: Step | undefined): Rational | undefined {
  const [left, right] = step ?? []
  const last = step?.at(-1)
  if (left === undefined || last === undefined) return undefined
  return (right && solve(left, right)) ?? numericValue(last)
}

function digitsOf({ top, bottom }: Rational): string {
  return [...`${absolute(top)}${bottom}`].sort().join('')
}

/** Within a tenth of the correct answer. */
function isClose(expected: Rational, given: Rational): boolean {
  const { top, bottom } = subtract(expected, given)
  if (isZero(expected)) return absolute(top) <= bottom
  return absolute(top) * expected.bottom * 10n <= absolute(expected.top) * bottom
}
