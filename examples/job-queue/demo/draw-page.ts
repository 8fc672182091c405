/** Pages to upload, drawn when they are needed. */
import sharp from 'sharp'

/** A page with these lines of text, as a PNG. */
export async function drawPage(lines: readonly string[]): Promise<Uint8Array<ArrayBuffer>> {
  const texts = lines.map((line, index) => `<text x="20" y="${60 + index * 60}">${line}</text>`)
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="640" height="${60 * lines.length + 60}"
    font-family="sans-serif" font-size="32"><rect width="100%" height="100%" fill="white"/>${texts.join('')}</svg>`
  return new Uint8Array(await sharp(Buffer.from(svg)).png().toBuffer())
}
