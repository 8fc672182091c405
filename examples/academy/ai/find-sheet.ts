/**
 * Finds an answer sheet in a scan by its five black squares, whichever way round it lay on the scanner.
 * Without all five nobody can say where the bubbles are, so there is no answer then.
 */
import { cornerMarks, type Point, sheet } from './answer-sheet.ts'
import { type Blot, findBlots } from './find-blots.ts'
import { type GreyImage, tonesOf } from './grey-image.ts'

export interface SheetPosition {
  /** By how much the sheet is turned clockwise, in degrees. */
  readonly turned: number
  /** Points of the scan for each unit of the drawn sheet. */
  readonly scale: number
  /** Where a place of the drawn sheet is in the scan. */
  locate(place: Point): Point
}

export function findSheet(image: GreyImage): SheetPosition | undefined {
  const { ink, paper } = tonesOf(image)
  const scale = Math.max(image.width, image.height) / sheet.height
  const marks = findBlots(image, (ink + paper) / 2)
    .filter((blot) => isMark(blot, sheet.markSide * scale))
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

/** A square about as large as a mark and full of ink; a turn by a few degrees widens its box. */
function isMark({ width, height, area }: Blot, side: number): boolean {
  const fits = (length: number): boolean => length > side * 0.8 && length < side * 1.3
  return fits(width) && fits(height) && area / (width * height) > 0.8
}

function centreOf({ left, top, width, height }: Blot): Point {
  return { x: left + (width - 1) / 2, y: top + (height - 1) / 2 }
}

/** The outermost marks of the picture, clockwise from its top left. */
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

/** Interpolates between the corners: right for a sheet that is turned, moved, scaled or skewed. */
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
