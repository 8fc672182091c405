/**
 * Makes a short lesson video: three slides, a cut, a cross-fade, and a red pointer that moves all the time, so
 * that not every movement is a new page.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { ffmpeg } from '../video/ffmpeg.ts'
import { drawPage, type PageText } from './draw-page.ts'

const slides: readonly PageText[] = [
  { title: 'Circles', lines: ['The area is pi times r squared.', 'Today: how to measure r.'] },
  {
    title: 'An example',
    lines: ['A pond is 6 m across.', 'So r is 3 m,', 'and its area is 28.27 square metres.'],
  },
  {
    title: 'Exercises',
    lines: ['1. r = 2 cm', '2. r = 5 cm', '3. r = 12 cm', 'Hand in by Friday.'],
  },
]

/** Slide 1 for three seconds, slide 2 for two, half a second of fading, slide 3 for four. */
const filter = [
  '[0][1]concat=n=2,settb=1/10[cut]',
  '[2]settb=1/10[last]',
  '[cut][last]xfade=transition=fade:duration=0.5:offset=5[slides]',
  "[slides][3]overlay=x='80+40*t':y=300:shortest=1[out]",
].join(';')

export async function makeLessonVideo(file: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'academy-slides-'))
  try {
    const stills: string[] = []
    for (const [index, seconds] of [3, 2.5, 4.5].entries()) {
      const slide = slides[index]
      if (slide === undefined) continue
      const still = join(folder, `slide-${index}.png`)
      await writeFile(still, await drawPage(slide, { width: 640, height: 360 }))
      stills.push('-loop', '1', '-framerate', '10', '-t', String(seconds), '-i', still)
    }
    const pointer = ['-f', 'lavfi', '-i', 'color=red:size=14x14:rate=10']
    const output = ['-map', '[out]', '-pix_fmt', 'yuv420p', file]
    await mkdir(dirname(file), { recursive: true })
    await ffmpeg([...stills, ...pointer, '-filter_complex', filter, ...output])
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
