/** Finds connected dark areas in an image, with their bounding boxes. */
import type { GreyImage } from './grey-image.ts'

export interface DarkArea {
  readonly left: number
  readonly top: number
  readonly width: number
  readonly height: number
  /** Dark pixels in the box. */
  readonly area: number
}

/** A pixel below the threshold is dark. Pixels that share a side are connected. */
export function findDarkAreas(
  { points, width, height }: GreyImage,
  threshold: number,
): readonly DarkArea[] {
  const seen = new Uint8Array(points.length)
  const isNew = (index: number): boolean =>
    seen[index] === 0 && (points[index] ?? threshold) < threshold
  const areas: DarkArea[] = []
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
    areas.push({ left, top, width: right - left + 1, height: bottom - top + 1, area })
  }
  return areas
}
