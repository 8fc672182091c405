/** Finds connected dark areas in a picture, with the size of the box around each. */
import type { GreyImage } from './grey-image.ts'

export interface Blot {
  readonly left: number
  readonly top: number
  readonly width: number
  readonly height: number
  /** Dark points in the box. */
  readonly area: number
}

/** Darker than the threshold is dark; points that touch at a side belong together. */
export function findBlots(
  { points, width, height }: GreyImage,
  threshold: number,
): readonly Blot[] {
  const seen = new Uint8Array(points.length)
  const isNew = (index: number): boolean =>
    seen[index] === 0 && (points[index] ?? threshold) < threshold
  const blots: Blot[] = []
  const waiting: number[] = []
  const visit = (index: number): void => {
    if (!isNew(index)) return
    seen[index] = 1
    waiting.push(index)
  }
  for (let start = 0; start < points.length; start += 1) {
    if (!isNew(start)) continue
    visit(start)
    let [left, right, top, bottom, area] = [width, 0, height, 0, 0]
    for (let index = waiting.pop(); index !== undefined; index = waiting.pop()) {
      const x = index % width
      const y = Math.floor(index / width)
      left = Math.min(left, x)
      right = Math.max(right, x)
      top = Math.min(top, y)
      bottom = Math.max(bottom, y)
      area += 1
      if (x > 0) visit(index - 1)
      if (x < width - 1) visit(index + 1)
      if (y > 0) visit(index - width)
      if (y < height - 1) visit(index + width)
    }
    blots.push({ left, top, width: right - left + 1, height: bottom - top + 1, area })
  }
  return blots
}
