/** The video worker process. It processes four videos at a time until it is stopped. */
import { runUntilSignal } from 'millrace'
import { readEnvironment } from './environment.ts'
import { openAcademy } from './open-academy.ts'
import { printerOf } from './print.ts'
import { requireFfmpeg } from './video/ffmpeg.ts'
import { videoHandler } from './video/handle-video.ts'

await requireFfmpeg()
const academy = await openAcademy(readEnvironment())
const worker = academy.mill.worker({
  poll: ['video'],
  concurrency: 4,
  handle: { video: videoHandler({ ...academy, print: printerOf('video worker') }) },
})
await runUntilSignal(academy, worker)
