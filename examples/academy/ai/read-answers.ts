/** Optical mark recognition: which bubbles of a scanned answer sheet are filled. */
import { bubbleCentre, type Choice, choices, type Point, sheet } from './answer-sheet.ts'
import { findSheet } from './find-sheet.ts'
import { type GreyImage, pointAt, readGreyImage, type Tones, tonesOf } from './grey-image.ts'

export interface Answer {
  readonly question: number
  readonly state: 'marked' | 'empty' | 'multiple'
  /** All marked choices. More than one counts as no answer. */
  readonly marks: readonly Choice[]
  /** How clearly the bubbles are filled or empty, 0 to 1. */
  readonly confidence: number
}

export interface ReadSheet {
  readonly answers: readonly Answer[]
  /** How far the sheet was turned clockwise, in degrees. */
  readonly turned: number
  /** The lowest confidence of all answers. */
  readonly confidence: number
}

/** The share of ink from which a bubble counts as marked: a firm stroke does, an erased one does not. */
const markedFrom = 0.4

/** Undefined if the image does not show a complete answer sheet. */
export async function readAnswers(image: Buffer): Promise<ReadSheet | undefined> {
  return answersIn(await readGreyImage(image))
}

export function answersIn(image: GreyImage): ReadSheet | undefined {
  const position = findSheet(image)
  if (position === undefined) return undefined
  const tones = tonesOf(image)
  // Measure well inside the bubble, because its outline is printed.
  const radius = sheet.bubbleRadius * 0.7 * position.scale
  const inkOf = (question: number, choice: Choice): number =>
    inkAround(image, position.locate(bubbleCentre(question, choice)), radius, tones)
  const answers = Array.from({ length: sheet.questions }, (_, index) =>
    answerOf(index + 1, (choice) => inkOf(index + 1, choice)),
  )
  const confidence = Math.min(...answers.map((answer) => answer.confidence))
  return { answers, turned: position.turned, confidence }
}

function answerOf(question: number, inkOf: (choice: Choice) => number): Answer {
  const measured = choices.map((choice) => ({ choice, ink: inkOf(choice) }))
  const marks = measured.filter(({ ink }) => ink >= markedFrom).map(({ choice }) => choice)
  const doubt = Math.min(...measured.map(({ ink }) => Math.abs(ink - markedFrom)))
  return {
    question,
    state: marks.length === 0 ? 'empty' : marks.length === 1 ? 'marked' : 'multiple',
    marks,
    confidence: Math.round(Math.min(1, doubt / markedFrom) * 100) / 100,
  }
}

/** The share of ink in the circle: 0 is paper, 1 is as black as the registration marks. */
function inkAround(image: GreyImage, centre: Point, radius: number, { ink, paper }: Tones): number {
  let sum = 0
  let count = 0
  for (let y = -radius; y <= radius; y += 1) {
    for (let x = -radius; x <= radius; x += 1) {
      if (Math.hypot(x, y) > radius) continue
      sum += pointAt(image, centre.x + x, centre.y + y)
      count += 1
    }
  }
  return Math.max(0, (paper - sum / count) / Math.max(1, paper - ink))
}
