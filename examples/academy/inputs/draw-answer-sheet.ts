/** Draws a filled-in answer sheet and turns it into a scan: slightly rotated, grey, with noise. */
import sharp from 'sharp'
import {
  bubbleCentre,
  type Choice,
  choices,
  cornerMarks,
  orientationMark,
  type Point,
  sheet,
} from '../ai/answer-sheet.ts'

/** The student's marks by question; a question may have several. */
export type Marks = Readonly<Record<number, readonly Choice[]>>

export interface ScanOptions {
  /** Degrees, clockwise. Default 1.5, because scanned sheets are rarely straight. */
  readonly turned?: number
  /** Standard deviation of the blur, in pixels. Default: no blur. */
  readonly blur?: number
  /** Brightness of the ink, 0 to 255. Default 30. */
  readonly ink?: number
}

const paper = 226
const noise = 12

export async function scanAnswerSheet(marks: Marks, options: ScanOptions = {}): Promise<Buffer> {
  const { turned = 1.5, blur, ink = 30 } = options
  const flat = await sharp(Buffer.from(drawing(marks)))
    .greyscale()
    .png()
    .toBuffer()
  const laid = await sharp(flat).rotate(turned, { background: '#fff' }).png().toBuffer()
  const dull = sharp(laid).linear((paper - ink) / 255, ink)
  const { data, info } = await (blur === undefined ? dull : dull.blur(blur))
    .greyscale()
    .raw()
    .toBuffer({ resolveWithObject: true })
  const { width, height, channels } = info
  return sharp(withNoise(data), { raw: { width, height, channels } }).jpeg().toBuffer()
}

function drawing(marks: Marks): string {
  const squares = [...cornerMarks, orientationMark].map(
    ({ x, y }) =>
      `<rect x="${x - sheet.markSide / 2}" y="${y - sheet.markSide / 2}"
        width="${sheet.markSide}" height="${sheet.markSide}"/>`,
  )
  const rows = Array.from({ length: sheet.questions }, (_, index) => row(index + 1, marks))
  return `
    <svg xmlns="http://www.w3.org/2000/svg" width="${sheet.width}" height="${sheet.height}">
      <rect width="100%" height="100%" fill="#fff"/>
      <g font-family="DejaVu Sans, Arial, sans-serif" font-size="20">
        <text x="100" y="140">Answer sheet: mathematics, mid-term exam</text>
        ${squares.join('')}${rows.join('')}
      </g>
    </svg>`
}

function row(question: number, marks: Marks): string {
  const { x, y } = bubbleCentre(question, 'A')
  const bubbles = choices.map((choice) => {
    const centre = bubbleCentre(question, choice)
    const filled = marks[question]?.includes(choice) ? penStroke(centre) : ''
    return `<circle cx="${centre.x}" cy="${centre.y}" r="${sheet.bubbleRadius}"
      fill="none" stroke="#777" stroke-width="1.5"/>${filled}`
  })
  return `<text x="${x - 56}" y="${y + 7}">${question}</text>${bubbles.join('')}`
}

/** Pen marks are slightly off-centre and do not fill the whole bubble. */
function penStroke({ x, y }: Point): string {
  return `<ellipse cx="${x + 1.5}" cy="${y - 1}" rx="9.5" ry="8" fill="#333"/>`
}

/** Deterministic noise, so that every run reads the same scan. */
function withNoise(points: Buffer): Buffer {
  let seed = 20260212
  const random = (): number => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
    return seed / 2 ** 32
  }
  return Buffer.from(
    points.map((point) => {
      const grain = (random() + random() + random() - 1.5) * 2 * noise
      return Math.min(255, Math.max(0, Math.round(point + grain)))
    }),
  )
}
