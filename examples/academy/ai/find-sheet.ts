/**
 * Finds an answer sheet in a scan by its five black squares, at any rotation. Without all five, the positions
 * of the bubbles are unknown, and the result is undefined.
 */
import { cornerMarks, type Point, sheet } from './answer-sheet.ts'
import { type DarkArea, findDarkAreas } from './find-dark-areas.ts'
import { type GreyImage, tonesOf } from './grey-image.ts'

export interface SheetPosition {
  /** How far the sheet is turned clockwise, in degrees. */
  readonly turned: number
  /** Pixels of the scan per unit of the drawing. */
  readonly scale: number
  /** Converts a position on the drawing to one in the scan. */
  locate(place: Point): Point
}

export function findSheet(image: GreyImage): SheetPosition | undefined {
  const { ink, paper } = tonesOf(image)
  const scale = Math.max(image.width, image.height) / sheet.height
  const marks = findDarkAreas(image, (ink + paper) / 2)
    .filter((area) => isMark(area, sheet.markSide * scale))
    .map(centreOf)
  if (marks.length !== cornerMarks.length + 1) return undefined

  const corners = cornersOf(marks)
  const fifth = marks.find((mark) => !corners.includes(mark))
  if (fifth === undefined) return undefined
  const distances = corners.map((corner) => Math.hypot(corner.x - fifth.x, corner.y - fifth.y))
  const first = distances.indexOf(Math.min(...distances))
  const upright = [...corners.slice(first), ...corners.slice(0, first)]
  return { turned: first * 90, scale, locate: locator(upright) }
}

/** A square of about the size of a mark, full of ink. Rotation by a few degrees makes its box larger. */
function isMark({ width, height, area }: DarkArea, side: number): boolean {
  const fits = (length: number): boolean => length > side * 0.8 && length < side * 1.3
  return fits(width) && fits(height) && area / (width * height) > 0.8
}

function centreOf({ left, top, width, height }: DarkArea): Point {
  return { x: left + (width - 1) / 2, y: top + (height - 1) / 2 }
}

/** The outermost marks of the image, clockwise from its top left. */
function cornersOf(marks: readonly Point[]): readonly Point[] {
  const outermost = (rank: (mark: Point) => number): Point[] =>
    marks.toSorted((one, other) => rank(other) - rank(one)).slice(0, 1)
  return [
    ...outermost(({ x, y }) => -x - y),
    ...outermost(({ x, y }) => x - y),
    ...outermost(({ x, y }) => x + y),
    ...outermost(({ x, y }) => y - x),
  ]
}

/** Interpolates between the corners, for a sheet that is turned, moved, scaled or skewed. */
function locator([topLeft, topRight, bottomRight, bottomLeft]: readonly Point[]): (
  place: Point,
) => Point {
  const [origin, , opposite] = cornerMarks
  return ({ x, y }) => {
    const right = (x - origin.x) / (opposite.x - origin.x)
    const down = (y - origin.y) / (opposite.y - origin.y)
    const blend = (axis: 'x' | 'y'): number =>
      (1 - down) * ((1 - right) * at(topLeft, axis) + right * at(topRight, axis)) +
      down * ((1 - right) * at(bottomLeft, axis) + right * at(bottomRight, axis))
    return { x: blend('x'), y: blend('y') }
  }
}

function at(point: Point | undefined, axis: 'x' | 'y'): number {
  return point?.[axis] ?? Number.NaN
}
