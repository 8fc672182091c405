/** Optical mark recognition: which bubbles of a scanned answer sheet are filled, and how surely. */
import { bubbleCentre, type Choice, choices, type Point, sheet } from './answer-sheet.ts'
import { findSheet } from './find-sheet.ts'
import { type GreyImage, pointAt, readGreyImage, type Tones, tonesOf } from './grey-image.ts'

export interface Answer {
  readonly question: number
  readonly state: 'marked' | 'empty' | 'multiple'
  /** Every choice that is marked; one of them is an answer, more of them are none. */
  readonly marks: readonly Choice[]
  /** 0 to 1: how far the bubbles are from the line between filled and not. */
  readonly confidence: number
}

export interface ReadSheet {
  readonly answers: readonly Answer[]
  /** By how much the sheet was turned clockwise, in degrees. */
  readonly turned: number
  /** That of the least certain answer. */
  readonly confidence: number
}

/** From this part of full ink on, a bubble is marked: a firm stroke is one, a rubbed-out one is not. */
const markedFrom = 0.4

/** Undefined when the picture shows no complete answer sheet. */
export async function readAnswers(image: Buffer): Promise<ReadSheet | undefined> {
  return answersIn(await readGreyImage(image))
}

export function answersIn(image: GreyImage): ReadSheet | undefined {
  const position = findSheet(image)
  if (position === undefined) return undefined
  const tones = tonesOf(image)
  // The outline of the bubble is printed: only what is well inside of it counts.
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

/** How much of the circle is ink: 0 is bare paper, 1 is as black as the marks. */
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
