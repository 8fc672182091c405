import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import sharp from 'sharp'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { type TemporaryFolder, temporaryFolder } from '../../../test/support/temporary-folder.ts'
import { drawPage } from '../inputs/draw-page.ts'
import { makeLessonVideo } from '../inputs/make-lesson-video.ts'
import { ffmpeg } from './ffmpeg.ts'
import { processVideo, type VideoResult } from './process-video.ts'

let folder: TemporaryFolder
let lesson: VideoResult

beforeAll(async () => {
  folder = await temporaryFolder('academy-video')
  await makeLessonVideo(folder.file('lesson.mp4'))
  lesson = await processVideo({ video: folder.file('lesson.mp4'), output: folder.file('out') })
})

afterAll(() => folder.remove())

describe('a lesson of nine and a half seconds with three slides', () => {
  test('is sampled twice a second', () => {
    assert.ok(lesson.frames >= 18 && lesson.frames <= 20, `${lesson.frames} frames`)
  })

  test('has two page changes, a cut and a cross-fade, and none for the pointer', () => {
    assert.equal(lesson.transitions.length, 2)
    const [cut = 0, fade = 0] = lesson.transitions
    assert.ok(Math.abs(cut - 3) <= 0.5, `the cut at ${cut} s`)
    assert.ok(fade >= 5 && fade <= 6, `the cross-fade ended at ${fade} s`)
  })

  test('has a different thumbnail for each slide, 320 pixels wide', async () => {
    assert.deepEqual(lesson.thumbnails, ['page-1.jpg', 'page-2.jpg', 'page-3.jpg'])
    const looks = await Promise.all(
      lesson.thumbnails.map(async (name) => {
        const image = sharp(folder.file(`out/${name}`))
        assert.equal((await image.metadata()).width, 320)
        return (await image.greyscale().raw().toBuffer()).toString('base64')
      }),
    )
    assert.equal(new Set(looks).size, 3)
  })

  test('is represented by a frame of the slide that was shown longest', async () => {
    const { file, second } = lesson.representative
    assert.ok(second >= 5.5, `taken at ${second} s`)
    assert.equal((await sharp(folder.file(`out/${file}`)).metadata()).width, 640)
  })
})

test('a still image has one page and no transition', async () => {
  const still = folder.file('still.png')
  const page = { title: 'One page', lines: ['that stays'] }
  await writeFile(still, await drawPage(page, { width: 320, height: 180 }))
  const video = folder.file('still.mp4')
  await ffmpeg(['-loop', '1', '-t', '2', '-i', still, '-pix_fmt', 'yuv420p', video])
  const { transitions, thumbnails } = await processVideo({ video, output: folder.file('still') })
  assert.deepEqual(transitions, [])
  assert.deepEqual(thumbnails, ['page-1.jpg'])
})

test('a file that is not a video fails with the error of ffmpeg, without its path', async () => {
  const video = folder.file('broken.mp4')
  await writeFile(video, 'not a video')
  const processing = processVideo({ video, output: folder.file('broken') })
  await assert.rejects(processing, {
    message: 'ffmpeg failed: Invalid data found when processing input',
  })
})

test('a playlist named like a video opens no other file', async () => {
  const video = folder.file('playlist.mp4')
  const lines = ['#EXTM3U', '#EXT-X-TARGETDURATION:3', '#EXTINF:3,', folder.file('lesson.mp4')]
  await writeFile(video, lines.join('\n'))
  await assert.rejects(
    processVideo({ video, output: folder.file('playlist') }),
    /^Error: ffmpeg failed/,
  )
})

test('an aborted run rejects with the reason and leaves no images', async () => {
  const reason = new Error('the worker stops')
  const output = folder.file('aborted')
  const video = folder.file('lesson.mp4')
  const processing = processVideo({ video, output, signal: AbortSignal.abort(reason) })
  await assert.rejects(processing, reason)
  await assert.rejects(sharp(`${output}/page-1.jpg`).metadata())
})
