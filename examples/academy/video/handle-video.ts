/** The handler of the video queue. */
import { dirname } from 'node:path/posix'
import { videoJobId } from '../api.ts'
import type { VideoJob } from '../app.ts'
import type { OpenAcademy } from '../open-academy.ts'
import { type Attempt, withRecord } from '../with-record.ts'
import { processVideo } from './process-video.ts'

export interface VideoHandling extends Pick<OpenAcademy, 'records' | 'storage'> {
  readonly print: (line: string) => void
}

export type VideoHandler = (video: VideoJob, context: Attempt) => Promise<void>

export function videoHandler({ records, storage, print }: VideoHandling): VideoHandler {
  return async (video, context) => {
    await withRecord({
      records,
      job: { jobId: videoJobId(video), jobType: 'VIDEO' },
      context,
      print,
      run: () =>
        processVideo({
          video: storage.path(video.file_key),
          output: storage.path(thumbnailsOf(video)),
          signal: context.signal,
        }),
      describe: ({ thumbnails, transitions }) =>
        `${thumbnails.length} pages, turned at ${transitions.map((at) => `${at} s`).join(' and ')}`,
    })
  }
}

/** The images of `videos/tenant-1/video-123.mp4` are in `thumbnails/tenant-1/video-123`. */
function thumbnailsOf({ file_key, video_id }: VideoJob): string {
  const folder = dirname(file_key).replace(/^videos(?=\/|$)/, '')
  return `thumbnails${folder}/video-${video_id}`
}
