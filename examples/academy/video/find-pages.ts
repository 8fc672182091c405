/**
 * Finds the page changes of a video. Two frames show the same page if few pixels of their small grey copies
 * differ: a pointer or a hand changes a few pixels, a new page changes many.
 */
import sharp from 'sharp'
import type { Frame } from './sample-frames.ts'

export interface Page {
  readonly frames: readonly Frame[]
}

const grid = { width: 64, height: 36 }

/** Compression causes smaller differences between identical frames. */
const pointChange = 16

/** The share of pixels that must differ. A pointer changes 0.3 %, new text on the page 3 % or more. */
const pageChange = 0.02

/** A shorter one is a frame in the middle of a cross-fade. */
const framesOfPageMin = 2

export async function findPages(frames: readonly Frame[]): Promise<readonly Page[]> {
  const looks = await Promise.all(
    frames.map(async (frame) => ({ frame, points: await look(frame) })),
  )
  const runs: (typeof looks)[] = []
  for (const next of looks) {
    const run = runs.at(-1)
    const previous = run?.at(-1)
    if (previous !== undefined && change(previous.points, next.points) < pageChange) run?.push(next)
    else runs.push([next])
  }
  const stays = runs.filter((run) => run.length >= framesOfPageMin)
  const pages = stays.length > 0 ? stays : runs.slice(0, 1)
  return pages.map((run) => ({ frames: run.map(({ frame }) => frame) }))
}

/** The share of pixels that differ between two small grey copies, 0 to 1. */
export function change(one: Uint8Array, other: Uint8Array): number {
  let changed = 0
  for (const [index, value] of one.entries()) {
    if (Math.abs(value - (other[index] ?? 0)) > pointChange) changed += 1
  }
  return changed / one.length
}

function look({ file }: Frame): Promise<Uint8Array> {
  return sharp(file)
    .greyscale()
    .resize({ ...grid, fit: 'fill' })
    .raw()
    .toBuffer()
}
