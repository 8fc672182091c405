/** An image as one byte per pixel, from 0 (black) to 255 (white). */
import sharp from 'sharp'

export interface GreyImage {
  readonly points: Uint8Array
  readonly width: number
  readonly height: number
}

/** The brightness of the ink and of the paper. */
export interface Tones {
  readonly ink: number
  readonly paper: number
}

/** A larger image would not improve the result. */
const sideMax = 1052

/** Reads an image in any format. A median filter removes scanner noise. */
export async function readGreyImage(image: Buffer): Promise<GreyImage> {
  const { data, info } = await sharp(image)
    .autoOrient()
    .resize({ width: sideMax, height: sideMax, fit: 'inside', withoutEnlargement: true })
    .greyscale()
    .median(3)
    .raw()
    .toBuffer({ resolveWithObject: true })
  return { points: data, width: info.width, height: info.height }
}

/** Most pixels of a page are paper, and at least a few in a thousand are ink. */
export function tonesOf({ points }: GreyImage): Tones {
  return { ink: quantile(points, 0.002), paper: quantile(points, 0.5) }
}

/** The value below which this share of all values lies; 0.5 is the median. */
export function quantile(values: Uint8Array, part: number): number {
  const counts = new Uint32Array(256)
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1
  let seen = 0
  return counts.findIndex((count) => {
    seen += count
    return seen >= part * values.length
  })
}

export function pointAt({ points, width, height }: GreyImage, x: number, y: number): number {
  const column = Math.min(width - 1, Math.max(0, Math.round(x)))
  const row = Math.min(height - 1, Math.max(0, Math.round(y)))
  return points[row * width + column] ?? 255
}
