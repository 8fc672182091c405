/** Processes one video: finds its pages and writes thumbnails and a cover. */
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import sharp from 'sharp'
import { frameOfPage, representativeFrame } from './choose-frames.ts'
import { findPages } from './find-pages.ts'
import { type Frame, sampleFrames } from './sample-frames.ts'

export interface VideoResult {
  readonly frames: number
  /** The seconds at which a new page appears. The first page is not included. */
  readonly transitions: readonly number[]
  /** One file name for each page. */
  readonly thumbnails: readonly string[]
  readonly representative: { readonly file: string; readonly second: number }
}

export interface VideoProcessing {
  readonly video: string
  /** The folder for the images. It is created if missing; existing images are overwritten. */
  readonly output: string
  readonly signal?: AbortSignal
}

const framesPerSecond = 2
const thumbnailWidth = 320

export async function processVideo(processing: VideoProcessing): Promise<VideoResult> {
  const { video, output, signal } = processing
  const folder = await mkdtemp(join(tmpdir(), 'academy-frames-'))
  try {
    const frames = await sampleFrames({ video, folder, framesPerSecond, ...(signal && { signal }) })
    const pages = await findPages(frames)
    signal?.throwIfAborted()
    await mkdir(output, { recursive: true })
    const thumbnails = await Promise.all(
      pages.map((page, index) => writeThumbnail(frameOfPage(page), output, index + 1)),
    )
    const cover = await representativeFrame(pages)
    await sharp(cover.file).jpeg().toFile(join(output, 'representative.jpg'))
    return {
      frames: frames.length,
      transitions: pages.slice(1).map(({ frames: [first] }) => first?.second ?? 0),
      thumbnails,
      representative: { file: 'representative.jpg', second: cover.second },
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function writeThumbnail({ file }: Frame, output: string, page: number): Promise<string> {
  const name = `page-${page}.jpg`
  await sharp(file).resize({ width: thumbnailWidth }).jpeg().toFile(join(output, name))
  return name
}
