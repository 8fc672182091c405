/**
 * Takes a few pictures a second out of a video. Pages of a lesson stay for seconds, so a low rate finds
 * all of them and spares most of the decoding and nearly all of the comparing.
 */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { ffmpeg } from './ffmpeg.ts'

export interface Frame {
  readonly file: string
  /** Where in the video it is. */
  readonly second: number
}

export interface Sampling {
  readonly video: string
  /** An empty folder, into which the frames are written. */
  readonly folder: string
  readonly framesPerSecond: number
  readonly signal?: AbortSignal
}

const frameWidth = 640

/** An upload may be a playlist with the name of a video, and would have ffmpeg open other files. */
const mp4Alone = ['-protocol_whitelist', 'file', '-f', 'mp4']

export async function sampleFrames(sampling: Sampling): Promise<readonly Frame[]> {
  const { video, folder, framesPerSecond, signal } = sampling
  const filter = `fps=${framesPerSecond},scale=${frameWidth}:-2`
  const input = [...mp4Alone, '-i', video]
  await ffmpeg([...input, '-vf', filter, join(folder, '%06d.png')], signal)
  const names = (await readdir(folder)).filter((name) => name.endsWith('.png')).sort()
  if (names.length === 0) throw new Error('The video has no picture in it.')
  return names.map((name, index) => ({ file: join(folder, name), second: index / framesPerSecond }))
}
