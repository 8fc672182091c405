/** Draws a filled-in answer sheet, and makes a scan of it: a little turned, grey and with noise. */
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

/** The marks of a student by question; more than one for a question is allowed. */
export type Marks = Readonly<Record<number, readonly Choice[]>>

export interface ScanOptions {
  /** Degrees, clockwise. Default 1.5: nobody lays a sheet down straight. */
  readonly turned?: number
  /** Standard deviation of the blur, in points. Default none. */
  readonly blur?: number
  /** Grey of the ink, 0 to 255. Default 30. */
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

/** Pens miss the middle and do not fill a bubble to its edge. */
function penStroke({ x, y }: Point): string {
  return `<ellipse cx="${x + 1.5}" cy="${y - 1}" rx="9.5" ry="8" fill="#333"/>`
}

/** The same noise every time, so that every run reads the same scan. */
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
