/** A picture as numbers: one byte for each point, 0 black to 255 white. */
import sharp from 'sharp'

export interface GreyImage {
  readonly points: Uint8Array
  readonly width: number
  readonly height: number
}

/** How dark the ink is, and how bright the paper. */
export interface Tones {
  readonly ink: number
  readonly paper: number
}

/** More points than this tell nothing more about a sheet of paper. */
const sideMax = 1052

/** Reads a picture of any format; a median of neighbours takes away the specks of a scanner. */
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

/** Most points of a page are paper, and at least a few in a thousand are ink. */
export function tonesOf({ points }: GreyImage): Tones {
  return { ink: quantile(points, 0.002), paper: quantile(points, 0.5) }
}

/** The value that this part of all values does not exceed; 0.5 is the median. */
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
