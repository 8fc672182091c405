/** Draws lines of text as a PNG, in place of a scan or a photo. */
import sharp from 'sharp'

const lineHeight = 90

export function drawPage(lines: readonly string[]): Promise<Buffer> {
  const height = (lines.length + 1) * lineHeight
  const texts = lines.map(
    (line, index) => `<text x="60" y="${(index + 1) * lineHeight}">${line}</text>`,
  )
  const sheet = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="900" height="${height}">`,
    '<rect width="100%" height="100%" fill="#fffef8"/>',
    `<g font-family="DejaVu Sans, sans-serif" font-size="48" fill="#202040">${texts.join('')}</g>`,
    '</svg>',
  ]
  return sharp(Buffer.from(sheet.join('')))
    .png()
    .toBuffer()
}
