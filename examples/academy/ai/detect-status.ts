/**
 * Checks a submitted answer sheet before it is marked: whether it is readable, which way up it is, and whether
 * none, some or all questions are answered.
 */
import { type GreyImage, quantile, readGreyImage, type Tones, tonesOf } from './grey-image.ts'
import { answersIn } from './read-answers.ts'

export interface SheetStatus {
  readonly status: 'UNREADABLE' | 'BLANK' | 'PARTIAL' | 'COMPLETE'
  /** Why it is unreadable, or null. */
  readonly problem: 'pale' | 'blurred' | 'no answer sheet' | null
  /** How far the sheet is turned clockwise, in degrees. */
  readonly turned: number
  readonly answered: number
  readonly empty: number
  /** Questions with more than one mark. */
  readonly multiple: number
  /** The contrast between ink and paper, 0 to 1. */
  readonly contrast: number
  /** The steepest edge between neighbouring pixels, 0 to 1. */
  readonly sharpness: number
}

const contrastMin = 0.25
const sharpnessMin = 0.2

export async function detectStatus(image: Buffer): Promise<SheetStatus> {
  const grey = await readGreyImage(image)
  const tones = tonesOf(grey)
  const measured = { contrast: contrastOf(tones), sharpness: sharpnessOf(grey, tones) }
  const unreadable = (problem: SheetStatus['problem']): SheetStatus => ({
    ...measured,
    status: 'UNREADABLE',
    problem,
    turned: 0,
    answered: 0,
    empty: 0,
    multiple: 0,
  })
  if (measured.contrast < contrastMin) return unreadable('pale')
  if (measured.sharpness < sharpnessMin) return unreadable('blurred')
  const read = answersIn(grey)
  if (read === undefined) return unreadable('no answer sheet')

  const count = (state: string): number =>
    read.answers.filter((answer) => answer.state === state).length
  const empty = count('empty')
  return {
    ...measured,
    status: empty === read.answers.length ? 'BLANK' : empty > 0 ? 'PARTIAL' : 'COMPLETE',
    problem: null,
    turned: read.turned,
    answered: count('marked'),
    empty,
    multiple: count('multiple'),
  }
}

function contrastOf({ ink, paper }: Tones): number {
  return hundredths(Math.max(0, paper - ink) / 255)
}

/** Uses only the steepest edges, because most of a sharp image is flat paper. */
function sharpnessOf({ points, width }: GreyImage, { ink, paper }: Tones): number {
  const steps = points.map((point, index) =>
    index % width === 0 ? 0 : Math.abs(point - (points[index - 1] ?? point)),
  )
  return hundredths(Math.min(1, quantile(steps, 0.998) / Math.max(1, paper - ink)))
}

function hundredths(value: number): number {
  return Math.round(value * 100) / 100
}
