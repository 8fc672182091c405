/** Draws pages of text as images: the slides of a lesson, a page of an exam. */
import sharp from 'sharp'

export interface PageText {
  readonly title: string
  readonly lines: readonly string[]
}

export interface PageSize {
  readonly width: number
  readonly height: number
}

export function drawPage({ title, lines }: PageText, { width, height }: PageSize): Promise<Buffer> {
  const left = Math.round(width / 16)
  const text = lines.map(
    (line, index) => `<text x="${left}" y="${120 + index * 40}" font-size="22">${line}</text>`,
  )
  const svg = `
    <svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">
      <rect width="100%" height="100%" fill="#fdfdf8"/>
      <g font-family="DejaVu Sans, Arial, sans-serif" fill="#1b1b2b">
        <text x="${left}" y="60" font-size="30">${title}</text>
        ${text.join('')}
      </g>
    </svg>`
  return sharp(Buffer.from(svg)).png().toBuffer()
}
