/** Creates exercises that provoke certain mistakes. The same seed creates the same exercises. */
import { createHash } from 'node:crypto'

/** A whole number between least and most. */
type Draw = (least: number, most: number) => number

const generators: Readonly<Record<string, (draw: Draw) => string>> = {
  ADD_CARRY_OMITTED(draw) {
    const [left, right] = [draw(3, 9), draw(3, 9)]
    const carrying = draw(Math.max(1, 10 - left), 9)
    return `${right}${left} + ${draw(1, 9)}${carrying}`
  },
  SUB_SMALLER_FROM_LARGER: subtraction,
  SUB_BORROW_NOT_PAID: subtraction,
  TIMES_TABLE_SLIP: (draw) => `${draw(3, 9)} \\cdot ${draw(6, 9)}`,
  OPERATION_SWAPPED: (draw) => `${draw(20, 60)} - ${draw(3, 19)}`,
  ORDER_OF_OPERATIONS: (draw) => `${draw(2, 9)} + ${draw(2, 9)} \\cdot ${draw(2, 9)}`,
  FRACTION_ADD_ACROSS(draw) {
    const bottom = draw(2, 5)
    return `\\frac{1}{${bottom}} + \\frac{${draw(1, 5)}}{${bottom + draw(1, 4)}}`
  },
  DISTRIBUTE_FIRST_ONLY(draw) {
    const [factor, inner] = [draw(2, 6), draw(2, 9)]
    return `${factor}(x + ${inner}) = ${factor * (inner + draw(1, 9))}`
  },
  NEGATIVE_NOT_DISTRIBUTED: (draw) => `${draw(15, 30)} - (x - ${draw(2, 9)}) = ${draw(1, 9)}`,
  COEFFICIENT_SUBTRACTED: product,
  DIVISION_INVERTED: product,
}

function subtraction(draw: Draw): string {
  const [top, bottom] = [draw(0, 7), draw(1, 2)]
  return `${draw(4, 9)}${top} - ${draw(1, 3)}${top + bottom}`
}

function product(draw: Draw): string {
  const factor = draw(2, 9)
  return `${factor}x = ${factor * draw(2, 12)}`
}

/** For mistakes that can happen in any exercise. */
function equation(draw: Draw): string {
  const [factor, term] = [draw(2, 9), draw(2, 20)]
  return `${factor}x + ${term} = ${factor * draw(2, 12) + term}`
}

export interface ExerciseOrder {
  readonly seed: string
  readonly errorCodes: readonly string[]
  readonly count: number
}

export interface MadeExercise {
  readonly statement: string
  readonly errorCode: string
}

/** As many exercises as ordered, for each mistake in turn. */
export function makeExercises({ seed, errorCodes, count }: ExerciseOrder): readonly MadeExercise[] {
  return Array.from({ length: count }, (_, index) => {
    const errorCode = errorCodes[index % errorCodes.length] ?? ''
    const generator = Object.hasOwn(generators, errorCode) ? generators[errorCode] : equation
    return { errorCode, statement: (generator ?? equation)(drawFrom(`${seed}/${index}`)) }
  })
}

function drawFrom(seed: string): Draw {
  let state = createHash('sha256').update(seed).digest()
  return (least, most) => {
    state = createHash('sha256').update(state).digest()
    return least + (state.readUInt32BE() % (most - least + 1))
  }
}
