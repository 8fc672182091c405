/**
 * The layout of the academy's answer sheet: registration marks and bubbles. Both the drawing and the reader use
 * it. Lengths are in units of the drawing; the reader finds the scale.
 */
export interface Point {
  readonly x: number
  readonly y: number
}

export const choices = ['A', 'B', 'C', 'D', 'E'] as const
export type Choice = (typeof choices)[number]

export const sheet = {
  width: 744,
  height: 1052,
  questions: 20,
  markSide: 32,
  bubbleRadius: 11,
} as const

/** Centres of the four marks, clockwise from the top left. */
export const cornerMarks: readonly [Point, Point, Point, Point] = [
  { x: 52, y: 52 },
  { x: 692, y: 52 },
  { x: 692, y: 1000 },
  { x: 52, y: 1000 },
]

/** A fifth mark beside the first, which identifies the top left corner. */
export const orientationMark: Point = { x: 132, y: 52 }

const questionsPerColumn = 10

/** `question` starts at 1. */
export function bubbleCentre(question: number, choice: Choice): Point {
  const column = Math.floor((question - 1) / questionsPerColumn)
  const row = (question - 1) % questionsPerColumn
  return { x: 150 + column * 300 + choices.indexOf(choice) * 42, y: 230 + row * 70 }
}
