/**
 * Extracts a few frames per second from a video. Pages of a lesson stay for seconds, so a low rate finds all
 * of them and saves most of the decoding and comparing.
 */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { ffmpeg } from './ffmpeg.ts'

export interface Frame {
  readonly file: string
  /** The position in the video, in seconds. */
  readonly second: number
}

export interface Sampling {
  readonly video: string
  /** An empty folder for the frames. */
  readonly folder: string
  readonly framesPerSecond: number
  readonly signal?: AbortSignal
}

const frameWidth = 640

/** Refuse playlists: an upload with the name of a video could make ffmpeg open other files. */
const mp4Alone = ['-protocol_whitelist', 'file', '-f', 'mp4']

export async function sampleFrames(sampling: Sampling): Promise<readonly Frame[]> {
  const { video, folder, framesPerSecond, signal } = sampling
  const filter = `fps=${framesPerSecond},scale=${frameWidth}:-2`
  const input = [...mp4Alone, '-i', video]
  await ffmpeg([...input, '-vf', filter, join(folder, '%06d.png')], signal)
  const names = (await readdir(folder)).filter((name) => name.endsWith('.png')).sort()
  if (names.length === 0) throw new Error('The video has no frames.')
  return names.map((name, index) => ({ file: join(folder, name), second: index / framesPerSecond }))
}
