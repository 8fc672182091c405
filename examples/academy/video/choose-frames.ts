/** Chooses the frames that represent a video: one per page, and one cover. */
import sharp from 'sharp'
import type { Page } from './find-pages.ts'
import type { Frame } from './sample-frames.ts'

/** The middle of the page, after its content has built up and before the next page appears. */
export function frameOfPage({ frames }: Page): Frame {
  const frame = frames[Math.floor(frames.length / 2)]
  if (frame === undefined) throw new Error('A page has at least one frame.')
  return frame
}

/** The sharpest frame of the page that was shown longest. */
export async function representativeFrame(pages: readonly Page[]): Promise<Frame> {
  const [longest] = pages.toSorted((one, other) => other.frames.length - one.frames.length)
  if (longest === undefined) throw new Error('A video has at least one page.')
  const judged = await Promise.all(
    longest.frames.map(async (frame) => ({ frame, ...(await sharp(frame.file).stats()) })),
  )
  const [best] = judged.toSorted((one, other) => other.sharpness - one.sharpness)
  return best?.frame ?? frameOfPage(longest)
}
